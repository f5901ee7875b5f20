"""Compares the tables of two runs, and checks one table by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.chaos.journals import Recorded
from ray_gym.record.schema import without_volatile

Row = dict[str, Any]
SHOWN = 5


def whole(rows: Sequence[Row], episodes: int) -> list[str]:
    """Returns the first SHOWN problems of a table that must hold `episodes` completed episodes, each once and in its
    first try.
    """
    ids = [row["episode_id"] for row in rows]
    problems = []
    if len(rows) != episodes or len(set(ids)) != len(ids):
        problems.append(f"{len(rows)} rows of {len(set(ids))} episodes, but {episodes} were to be played")
    for row in rows:
        if row["status"] != "completed" or row["failure"] is not None or row["try"]:
            problems.append(f"episode {row['episode_id']}: {row['status']}, try {row['try']}, failure {row['failure']}")
    return problems[:SHOWN]


def differences(found: Sequence[Row], expected: Sequence[Row]) -> list[str]:
    """Returns the first SHOWN differences of two tables: missing episodes, and values that differ though they may not."""
    theirs = {row["episode_id"]: _comparable(row) for row in expected}
    problems = []
    for row in found:
        mine, other = _comparable(row), theirs.pop(row["episode_id"], None)
        if other is None:
            problems.append(f"episode {row['episode_id']} is not in the undisturbed run")
        elif mine != other:
            columns = [column for column in mine if mine[column] != other[column]]
            told = "; ".join(f"{column}: {_short(mine[column], other[column])}" for column in columns)
            problems.append(f"episode {row['episode_id']} differs in {told}")
    problems += [f"episode {episode} is missing" for episode in theirs]
    return problems[:SHOWN]


def _comparable(row: Row) -> Row:
    """Returns the columns of a row that may not differ between two plays.

    If threads ran at the same time, the events are sorted by thread and have no numbers, since their order is chance.
    """
    kept = without_volatile(row)
    if any("/" in (event["thread"] or "") for event in row["events"]):
        by_thread = sorted(kept["events"], key=lambda event: event["thread"] or "")
        kept["events"] = [{key: value for key, value in event.items() if key != "seq"} for event in by_thread]
    return kept


def _short(mine: Any, other: Any) -> str:
    if isinstance(mine, list) and isinstance(other, list):
        at = next((n for n, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), min(len(mine), len(other)))
        return f"entry {at} of {len(mine)} and {len(other)}: {mine[at : at + 1]!s:.300} instead of {other[at : at + 1]!s:.300}"
    return f"{mine!s:.200} instead of {other!s:.200}"


def without_tokens(row: Row, recorded: Recorded) -> bool:
    """Says whether a row lacks the tokens of a recorded call.

    They are there if a sample of the call's thread holds the ids of its prompt and answer in one piece, with the same
    logprobs on the answer.
    """
    completion = recorded.completion
    wanted = np.concatenate([completion.prompt_ids, completion.token_ids])
    for sample in row["samples"]:
        if sample["thread"] != recorded.thread:
            continue
        ids, logprobs = np.array(sample["token_ids"], np.int32), np.array(sample["logprobs"], np.float32)
        for at in np.flatnonzero(ids[: len(ids) - len(wanted) + 1] == wanted[0]) if len(wanted) else ():
            end = at + len(wanted)
            drawn = logprobs[end - len(completion.token_ids) : end]
            if np.array_equal(ids[at:end], wanted) and np.array_equal(drawn, completion.logprobs):
                return False
    return True
