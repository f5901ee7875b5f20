"""A report chooses the episodes that tell the most, each with its reason, and no more than were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from shown_runs import episode, write

from ray_gym.health.findings import Finding
from ray_gym.report.telling import Telling, telling_episodes
from ray_gym.run.directory.location import storage_at
from ray_gym.viewer.index_files import read_index

FINDING = Finding("tool_error", "find", 3, 9, "calls", "erred", "why", ("e5", "gone"), "")


def index_of(folder: Path, *rows: dict[str, Any]) -> pa.Table:
    name = write(folder, *rows).name
    return read_index(storage_at(str(folder)), name, 0)[0]


def by_id(chosen: list[Telling]) -> dict[str, str]:
    return {one.episode_id: "; ".join(one.reasons) for one in chosen}


def test_the_best_the_worst_the_usual_failures_and_findings_are_chosen(tmp_path: Path) -> None:
    rewards = [0.9, 0.1, 0.5, 0.5, 0.6, None, 0.4, 0.4, None, 0.45]
    rows = [episode(number, reward) for number, reward in enumerate(rewards)]
    rows[8]["failure"] = {"kind": "judge", "where": "judge", "message": "m"}
    chosen = by_id(telling_episodes(index_of(tmp_path, *rows), [FINDING], 20))
    assert chosen["e0"].startswith("the highest reward, 0.9; the best of group g0, with a spread of 0.8")
    assert chosen["e1"].startswith("the lowest reward, 0.1; the worst of group g0, with a spread of 0.8")
    assert "nearest to the median reward, 0.475" in chosen["e9"] + chosen.get("e2", "")
    assert "the only failure of kind environment" in chosen["e5"]
    assert "an example of the finding tool_error (find)" in chosen["e5"]
    assert "the only failure of kind judge" in chosen["e8"]
    assert "e7" not in chosen, "a usual episode of a group without spread"


def test_no_more_than_were_asked_for_and_one_of_each_kind_first(tmp_path: Path) -> None:
    rows = [episode(number, None if number == 7 else float(number)) for number in range(30)]
    index = index_of(tmp_path, *rows)
    assert list(by_id(telling_episodes(index, [FINDING], 4))) == ["e29", "e1", "e7", "e5"]
    assert telling_episodes(index, [], 0) == []


def test_rewards_that_are_all_the_same_are_told_once_and_long_ones_are_found(tmp_path: Path) -> None:
    rows = [episode(number, 1.0) for number in range(6)]
    for number, row in enumerate(rows):
        row["usage"] = row["usage"] | {"generated_tokens": 900 if number == 4 else 10}
    chosen = by_id(telling_episodes(index_of(tmp_path, *rows), [], 10))
    assert any("reward 1, as all 6 episodes have" in reason for reason in chosen.values())
    assert "900 generated tokens, the most (median 10)" in chosen["e4"] and "spread" not in str(chosen)


def test_runs_without_a_reward_have_their_failures(tmp_path: Path) -> None:
    rows = [episode(number, None) for number in range(3)]
    assert list(by_id(telling_episodes(index_of(tmp_path, *rows), [], 10))) == ["e0"]
