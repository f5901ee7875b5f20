"""Makes one sequence of each episode for TRL's synchronous trainer, and counts what that leaves out."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch")
import pyarrow as pa
from handmade import END, handmade_groups, handmade_rows, tiny_model

from ray_gym.errors import UserError
from ray_gym.record.schema import as_table
from ray_gym.stream import Group
from ray_gym.trainers.one_row import Limits
from ray_gym.trainers.rows import rows_of
from ray_gym.trainers.trl.sequences import OneSequence, sequences_of

NONE = Limits()


@pytest.fixture(scope="module")
def groups() -> list[Group]:
    return handmade_groups(tiny_model())


def lengths(sequences: list[OneSequence]) -> list[int]:
    return [len(one.prompt_ids) + len(one.completion_ids) for one in sequences]


def test_a_sequence_has_the_tokens_mask_and_logprobs_of_its_sample(groups: list[Group]) -> None:
    sequences, _ = sequences_of(groups[0], 4, "longest", NONE, END)
    for one, row in zip(sequences, [row for row in rows_of(groups[0]) if not row.fork], strict=True):
        assert one.prompt_ids + one.completion_ids == row.token_ids.tolist()
        assert [0] * len(one.prompt_ids) + one.env_mask == row.loss_mask.tolist()
        assert [0.0] * len(one.prompt_ids) + one.logprobs == row.logprobs.tolist()
        assert one.reward == row.reward and one.env_mask[0] == 1


def test_a_fork_is_refused_unless_a_choice_is_made(groups: list[Group]) -> None:
    with pytest.raises(UserError, match=r'0-1: it has 2 samples \(reasoning_stripped\), .*forks="longest" or "last"'):
        sequences_of(groups[0], 4, "refuse", NONE, END)


@pytest.mark.parametrize("forks", ["longest", "last"])
def test_what_a_choice_leaves_out_is_counted(groups: list[Group], forks: str) -> None:
    made, counts = zip(*[sequences_of(group, 4, forks, NONE, END) for group in groups], strict=True)  # type: ignore[arg-type]
    counted = sum(counts, Counter[str]())
    assert [len(sequences) for sequences in made] == [4, 4]
    assert (counted["episodes"], counted["failed"], counted["forked"], counted["fork_samples"]) == (8, 1, 2, 2)
    trained = sum(sum(one.env_mask) for sequences in made for one in sequences)
    assert trained + counted["fork_tokens"] == sum(row.generated for group in groups for row in rows_of(group))
    forked = [row for group in groups for row in rows_of(group) if row.episode_id in ("0-1", "1-1")]
    of_choice = {"last": [row for row in forked if row.fork], "longest": [max(forked[:2], key=lambda r: r.generated)]}
    for row in of_choice[forks]:
        assert row.token_ids.tolist() in [one.prompt_ids + one.completion_ids for one in made[row.group]]


def test_a_failed_episode_trains_nothing_and_has_no_reward(groups: list[Group]) -> None:
    sequences, _ = sequences_of(groups[1], 4, "longest", NONE, END)
    assert sequences[3] == OneSequence([END], [END], [0], [0.0], None)


def test_a_group_with_surplus_episodes_has_the_size_that_the_trainer_wants() -> None:
    rows = [row for row in handmade_rows(tiny_model(), repeats=6) if row["group_id"] == "g0"]
    rows[0] |= {"status": "cancelled", "stop_reason": "surplus", "reward": None, "rewards": []}
    rows[2] |= {"status": "failed", "reward": None, "rewards": []}
    sequences, counts = sequences_of(Group(0, "g0", "t0", 0, as_table(rows)), 5, "longest", NONE, END)
    assert len(sequences) == 5 and [one.reward for one in sequences] == [1.0, 1.0, 0.0, 1.0, None]
    assert (counts["surplus"], counts["failed"], counts["episodes"]) == (1, 1, 6)


def test_a_silent_episode_keeps_its_reward_for_the_baseline() -> None:
    rows = [row for row in handmade_rows(tiny_model()) if row["group_id"] == "g0"]
    rows[2]["samples"] = []
    sequences, counts = sequences_of(Group(0, "g0", "t0", 0, as_table(rows)), 4, "longest", NONE, END)
    assert sequences[2] == OneSequence([END], [END], [0], [0.0], 0.0) and counts["silent"] == 1


def test_a_sample_that_is_too_long_is_left_out_whole(groups: list[Group]) -> None:
    whole, _ = sequences_of(groups[0], 4, "longest", NONE, END)
    longest = max(lengths(whole))
    for limits in (Limits(sequence=longest - 1), Limits(completion=max(len(one.completion_ids) for one in whole) - 1)):
        sequences, counts = sequences_of(groups[0], 4, "longest", limits, END)
        changed = [one for one, before in zip(sequences, whole, strict=True) if one != before]
        assert counts["too_long"] == len(changed) > 0
        assert all(one.env_mask == [0] and one.reward is not None for one in changed)
    assert sequences_of(groups[0], 4, "longest", Limits(sequence=longest), END)[1]["too_long"] == 0


def test_samples_of_two_participants_are_refused() -> None:
    rows = [row for row in handmade_rows(tiny_model()) if row["group_id"] == "g0"]
    rows[0]["samples"].append({**rows[0]["samples"][0], "participant": "user"})
    table: pa.Table = as_table(rows)
    with pytest.raises(UserError, match=r"participants.user.trainable: false"):
        sequences_of(Group(0, "g0", "t0", 0, table), 4, "longest", NONE, END)
