"""Pairs: two conversations of one group, the better first, told apart from where they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nemo_rl_forms import check_preference
from small_runs import GAMES, QUESTIONS, lines_of, played_run, rows_of

from ray_gym.errors import UserError
from ray_gym.export.pairs import MORE_THAN_A_RESPONSE, SAME_REWARD
from ray_gym.export.preference import WITH_TOOLS, Preference
from ray_gym.export.selection import Counts
from ray_gym.export.writing import export
from ray_gym.load import load

Line = dict[str, Any]


async def exported(folder: Path, config: Line, form: Preference) -> tuple[Path, list[Line], Counts]:
    run = await played_run(folder, config)
    counts = export(load(run), form, folder / "out.jsonl")
    lines = lines_of(folder / "out.jsonl")
    for line in lines:
        check_preference(line)
        chosen, rejected = (one["completion"] for one in line["completions"])
        assert chosen[0] != rejected[0], "what they have in common is the context"
    return run, lines, counts


async def test_a_pair_is_of_one_group_and_no_episode_is_in_two(tmp_path: Path) -> None:
    run, lines, counts = await exported(tmp_path, GAMES, Preference(0.0, False))
    rows = {row["episode_id"]: row for row in rows_of(run)}
    used = [episode for line in lines for episode in line["episode_ids"]]
    assert len(set(used)) == len(used) > 0
    for line in lines:
        better, worse = (rows[episode] for episode in line["episode_ids"])
        assert better["group_id"] == worse["group_id"] == line["group_id"]
        assert [better["reward"], worse["reward"]] == line["rewards"] and better["reward"] > worse["reward"]
    assert counts.left_out[SAME_REWARD] + len(lines) == 12, "of four episodes, two pairs"
    assert counts.notes[WITH_TOOLS] == len(lines)


async def test_single_responses_are_for_direct_preference_optimisation(tmp_path: Path) -> None:
    _, lines, counts = await exported(tmp_path, QUESTIONS, Preference(0.0, True))
    assert lines and all(len(one["completion"]) == 1 for line in lines for one in line["completions"])
    assert all(line["rewards"] == [1.0, 0.0] for line in lines)
    assert not +counts.notes


async def test_games_are_no_single_responses(tmp_path: Path) -> None:
    run = load(await played_run(tmp_path, GAMES))
    with pytest.raises(UserError, match=rf"nothing was written: .*{MORE_THAN_A_RESPONSE}"):
        export(run, Preference(0.0, True), tmp_path / "out.jsonl")


async def test_a_gap_takes_fewer(tmp_path: Path) -> None:
    _, lines, _ = await exported(tmp_path, GAMES, Preference(1.0, False))
    assert all(line["rewards"] == [1.0, 0.0] for line in lines)
