"""Compares the records of the service with the games and streams that its clients have seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.service_load.games import Game
from benchmarks.service_load.streams import Followed

SHOWN = 10


def rows_of(run: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    return [
        row
        for path in sorted((run / "episodes").glob("*.parquet"))
        for row in pq.read_table(path, columns=columns).to_pylist()
    ]


def check_games(rows: Sequence[dict[str, Any]], games: Iterable[Game]) -> list[str]:
    """Returns the problems of sessions; none if each is in the table exactly once, with the actions, the status and the
    reward that its client knows. Of games that have not ended, only the row is looked for.
    """
    times = Counter(row["episode_id"] for row in rows)
    by_id = {row["episode_id"]: row for row in rows}
    opened = {game.id: game for game in games if game.id}
    problems = [f"session {id}: {count} rows" for id, count in times.items() if count > 1]
    problems += [f"session {id}: a row of one that nobody has opened" for id in times.keys() - opened.keys()]
    for id, game in opened.items():
        if id not in by_id:
            problems.append(f"session {id}: no row")
        elif game.ended_at is not None:
            problems += [f"session {id}: {problem}" for problem in _differences(by_id[id], game)]
    return problems


def _differences(row: dict[str, Any], game: Game) -> list[str]:
    differences = []
    if (row["status"], row["reward"]) != (game.status, game.reward):
        differences.append(f"{row['status']} {row['reward']} in its row, {game.status} {game.reward} for its client")
    if (done := _actions_of(row)) != game.actions:
        differences.append(f"{done} in its row, {game.actions} by its client")
    return differences


def _actions_of(row: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("move", event["tool_calls"][0]["arguments"])
        if event["tool_calls"]
        else ("say", "".join(part["text"] for part in event["content"]))
        for event in row["events"]
        if event["thread"] == "policy" and event["role"] == "assistant"
    ]


def check_streams(rollouts: Path, followed: Iterable[Followed], groups: int) -> list[str]:
    """Returns the problems of streams that were followed to their end; none if all is right.

    A stream must have each group of its rollout exactly once, and a rollout that is done must have `groups` groups.
    `rollouts`: folder with the directories of the rollouts.
    """
    problems, written = [], {}
    for one in followed:
        if not one.state:
            continue  # counted as the error that it ended with
        if one.rollout not in written:
            written[one.rollout] = {row["group_id"] for row in rows_of(rollouts / one.rollout, ["group_id"])}
            if one.state == "done" and len(written[one.rollout]) != groups:
                problems.append(f"rollout {one.rollout}: done with {len(written[one.rollout])} of {groups} groups")
        if twice := [group for group, times in one.groups.items() if times > 1]:
            problems.append(f"stream of {one.rollout}: {len(twice)} groups twice")
        if one.groups.keys() != written[one.rollout]:
            problems.append(
                f"stream of {one.rollout} ({one.state}): {len(one.groups)} of {len(written[one.rollout])} groups"
            )
    return problems
