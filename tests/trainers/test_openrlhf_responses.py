"""Groups become responses of OpenRLHF's executors: which fields, what fills gaps, and which arguments are refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
from handmade import FAILED, handmade_groups, tiny_model

from ray_gym.errors import UserError
from ray_gym.stream import Group
from ray_gym.trainers.one_row import OneRow
from ray_gym.trainers.openrlhf.responses import check_args, responses_of

FILLER = 258


@pytest.fixture(scope="module")
def groups() -> list[Group]:
    return handmade_groups(tiny_model())


def test_each_episode_has_a_response_with_its_spans(groups: list[Group]) -> None:
    responses, _ = responses_of(groups[0], 4, "longest", 1000, FILLER)
    rows = OneRow("longest").of(groups[0])[0]
    assert len(responses) == len(rows) == 4
    for response, row in zip(responses, rows, strict=True):
        assert row is not None
        assert response["observation_tokens"] == row.token_ids.tolist()
        assert response["rollout_log_probs"] == row.logprobs.tolist()
        mask = [0] * len(row.token_ids)
        for start, end in response["action_ranges"]:
            mask[start:end] = [1] * (end - start)
        assert mask == row.loss_mask.tolist() and response["reward"] == row.reward
    assert any(len(response["action_ranges"]) > 1 for response in responses)
    assert {(response["prompt"], response["label"]) for response in responses} == {("t0", "g0")}


def test_a_failed_episode_is_filled_with_a_row_that_moves_no_mean(groups: list[Group]) -> None:
    responses, counts = responses_of(groups[1], 4, "longest", 1000, FILLER)
    [filled] = [response for response in responses if not response["extra_logs"]["ray_gym_trains"]]
    assert filled == responses[int(FAILED[-1])]
    assert (filled["observation_tokens"], filled["action_ranges"], filled["rollout_log_probs"]) == (
        [FILLER] * 2,
        [],
        [0.0] * 2,
    )
    others = [response["reward"] for response in responses if response is not filled]
    assert filled["reward"] == pytest.approx(sum(others) / 3) and counts["failed"] == 1


def test_what_is_too_long_is_left_out_whole_and_counted(groups: list[Group]) -> None:
    responses, counts = responses_of(groups[0], 4, "longest", 5, FILLER)
    assert counts["too_long"] == 4 and all(not response["action_ranges"] for response in responses)


def test_forks_are_chosen_from_and_counted(groups: list[Group]) -> None:
    rows, counts = OneRow("last").of(groups[0])
    assert [row.fork for row in rows if row is not None] == [0, 1, 0, 0]
    assert (counts["forked"], counts["fork_samples"]) == (1, 1) and counts["fork_tokens"] > 0
    with pytest.raises(UserError, match="0-1: it has 2 samples"):
        OneRow("refuse").of(groups[0])
    with pytest.raises(UserError, match=r"participants\.policy\.trainable: false"):
        OneRow("last", participant="user").of(groups[0])


def test_groups_of_another_size_are_refused(groups: list[Group]) -> None:
    with pytest.raises(UserError, match=r"4 episodes, and --rollout\.n_samples_per_prompt is 8"):
        responses_of(groups[0], 8, "longest", 1000, FILLER)


def arguments(**changes: Any) -> Any:
    given = {
        "num_engines": 0,
        "estimator": "group_norm",
        "n_samples": 4,
        "level": "token",
        "async_enable": False,
        "filtering": False,
        "remote_url": ["ray_gym"],
        **changes,
    }
    advantage = SimpleNamespace(estimator=given["estimator"], is_correction_level=given["level"])
    return SimpleNamespace(
        vllm=SimpleNamespace(num_engines=given["num_engines"]),
        algo=SimpleNamespace(advantage=advantage, dynamic_filtering_enable=given["filtering"]),
        rollout=SimpleNamespace(n_samples_per_prompt=given["n_samples"]),
        train=SimpleNamespace(async_enable=given["async_enable"]),
        reward=SimpleNamespace(remote_url=given["remote_url"]),
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_engines": None}, "--vllm.num_engines: None"),
        ({"estimator": "reinforce"}, "--algo.advantage.estimator: reinforce"),
        ({"n_samples": 1}, "--rollout.n_samples_per_prompt: 1"),
        ({"level": "off"}, "is_correction_level: off"),
        ({"async_enable": True}, "--train.async_enable"),
        ({"filtering": True}, "--algo.dynamic_filtering_enable"),
        ({"remote_url": None}, "--reward.remote_url"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes: dict[str, Any], said: str) -> None:
    check_args(arguments())
    with pytest.raises(UserError, match=said):
        check_args(arguments(**changes))
