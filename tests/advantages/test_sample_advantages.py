"""Samples have the advantages of their episodes: by group, by participant, with forks and failures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ray_gym.advantages import group_mean, group_normalised, leave_one_out, rewards_of, sample_advantages
from ray_gym.models.versions import Versions
from ray_gym.record.schema import SCHEMA
from ray_gym.run.directory.reading import flat_samples
from ray_gym.stream import Group


def sample(participant: str = "policy", trainable: bool = True, **fields: Any) -> dict[str, Any]:
    tokens = {"token_ids": [5, 6, 7], "loss_mask": [0, 1, 1], "logprobs": [0.0, -1.0, -2.0]}
    versions = [{"version": 3, "start": 1, "end": 3}]
    return {"participant": participant, "trainable": trainable, "reward": 1.0, "versions": versions, **tokens, **fields}


def episode(name: str, group: str, samples: list[Any], reward: float | None = 1.0, **others: float) -> dict[str, Any]:
    rewards = [] if reward is None else [{"participant": "policy", "name": "reward", "value": reward}]
    rewards += [{"participant": "policy", "name": "manners", "value": 9.0}]
    rewards += [{"participant": other, "name": "reward", "value": value} for other, value in others.items()]
    status = "failed" if reward is None else "completed"
    return {"episode_id": name, "group_id": group, "status": status, "rewards": rewards, "samples": samples}


def group_of(*rows: dict[str, Any]) -> Group:
    return Group(0, "g", "t", 3, pa.Table.from_pylist(list(rows), schema=SCHEMA))


def test_the_baseline_counts_episodes_without_samples_and_leaves_failed_ones_out() -> None:
    group = group_of(
        episode("a", "g", [sample()], 1.0),
        episode("silent", "g", [], 0.0),
        episode("failed", "g", [sample(trainable=False)], None),
    )
    assert rewards_of(group.episodes).tolist()[:2] == [1.0, 0.0]
    assert sample_advantages(group.episodes, group.samples, group_mean).tolist() == [0.5]
    assert sample_advantages(group.episodes, flat_samples(group.episodes), group_mean).tolist() == [0.5, 0]


def test_groups_are_apart() -> None:
    rows = [episode(f"{g}{n}", g, [sample()], float(g == "h" or n)) for n in range(2) for g in "gh"]
    joined = Group.joined([group_of(*rows[::2]), group_of(*rows[1::2])])
    assert joined.advantages(group_mean).tolist() == [-0.5, 0.5, 0, 0]


def test_each_participant_is_compared_with_itself() -> None:
    both = [sample(), sample("user")]
    group = group_of(episode("a", "g", both, 1.0, user=0.0), episode("b", "g", both, 0.0, user=8.0))
    assert group.advantages(group_mean).tolist() == [0.5, -4, -0.5, 4]


def test_forks_have_the_whole_advantage_or_a_share_of_it() -> None:
    forked = [sample(), sample(fork_reason="endpoint_rerendered"), sample("user", trainable=False)]
    group = group_of(episode("a", "g", forked, 1.0), episode("b", "g", [sample()], 0.0))
    assert group.advantages(group_mean).tolist() == [0.5, 0.5, 0, -0.5]
    assert group.advantages(group_mean, "shared").tolist() == [0.25, 0.25, 0, -0.5]


def test_a_sample_of_another_group_is_refused() -> None:
    group = group_of(episode("a", "g", [sample()]))
    with pytest.raises(KeyError):
        sample_advantages(group.episodes.slice(1), group.samples)


def test_groups_of_two_sources_with_the_same_ids_are_apart() -> None:
    """Sources with one seed and one file of tasks give the same ids."""
    lucky, unlucky = (group_of(*(episode(name, "g", [sample()], won) for name in "ab")) for won in (1.0, 0.0))
    joined = Group.joined([lucky, Group.joined([unlucky, lucky])])
    assert joined.advantages(group_mean).tolist() == [0.0] * 6 and len(joined.parts) == 3
    assert joined.samples.num_rows == joined.episodes.num_rows == 6


def test_joined_groups_keep_the_bound_that_they_were_delivered_with() -> None:
    spans = [{"version": 1, "start": 1, "end": 2}, {"version": 2, "start": 2, "end": 3}]
    rows = episode("a", "g", [sample(versions=spans, model="policy")])
    early, late = (replace(group_of(rows), oldest_kept=Versions(oldest)) for oldest in (1, 2))
    samples = Group.joined([early, late]).samples
    assert samples.column("withheld_tokens").to_pylist() == [0, 1]
    assert samples.column("loss_mask").to_pylist() == [[0, 1, 1], [0, 0, 1]]


@pytest.mark.parametrize("baseline", [lambda rewards: rewards[:1], lambda rewards: rewards * float("nan")])
def test_a_baseline_that_gives_no_number_for_an_episode_is_refused(baseline: Any) -> None:
    group = group_of(*(episode(name, "g", [sample()]) for name in "ab"))
    with pytest.raises(ValueError, match="baseline: for 2 episodes it gave"):
        group.advantages(baseline)


def test_a_share_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="forks: 'share', but it is one of copied, shared"):
        group_of(episode("a", "g", [sample()])).advantages(forks="share")  # type: ignore[arg-type]


@pytest.mark.parametrize("baseline", [group_mean, group_normalised, leave_one_out])
def test_whole_numbers_as_rewards(baseline: Any) -> None:
    assert baseline(np.array([1, 0])).tolist() == baseline(np.array([1.0, 0.0])).tolist() != [0, 0]
