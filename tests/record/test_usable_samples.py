"""Checks that a sample is trainable only where a trainer can use it."""

from __future__ import annotations

from typing import Any

import pytest
from playing import Alone, Game, Talk, play_script, with_tokens

from ray_gym import Episode, Score
from ray_gym.record.rows import row_of


class Broken(Alone):
    def score(self, state: Any, episode: Episode) -> Any:
        raise RuntimeError("no score")


class Both(Talk):
    """Scores the user, too, if it said anything."""

    def score(self, state: Any, episode: Episode) -> Any:
        return Score(1.0, others={"user": 0.5})


def samples_of(game: Game) -> list[tuple[str, bool, float | None]]:
    row = row_of(game.played, "run", "env")
    return [(sample["participant"], sample["trainable"], sample["reward"]) for sample in row["samples"]]


async def test_a_completed_episode_with_generated_tokens() -> None:
    game = await play_script(Alone(), [with_tokens("42", [1, 2], [3, 4])])
    assert samples_of(game) == [("policy", True, 1.0)]


async def test_an_answer_of_no_tokens_trains_nothing() -> None:
    game = await play_script(Alone(), [with_tokens("", [1, 2], [])])
    assert samples_of(game) == [("policy", False, 1.0)]


@pytest.mark.parametrize("logprob", [float("nan"), float("-inf"), float("inf")])
async def test_logprobs_that_are_no_numbers_train_nothing(logprob: float) -> None:
    answer = with_tokens("42", [1, 2], [3, 4])
    answer.logprobs[1] = logprob
    assert samples_of(await play_script(Alone(), [answer])) == [("policy", False, 1.0)]


async def test_a_failed_episode_trains_nothing() -> None:
    game = await play_script(Broken(), [with_tokens("42", [1, 2], [3, 4])])
    assert game.played.status == "failed" and samples_of(game) == [("policy", False, None)]


@pytest.mark.parametrize(("environment", "reward"), [(Talk, None), (Both, 0.5)])
async def test_a_trained_user_needs_a_reward_of_its_own(environment: type[Talk], reward: float | None) -> None:
    game = await play_script(
        environment(), [with_tokens("hi", [1], [2])], [with_tokens("bye", [5], [6])],
        limits={"max_turns": 1}, user={"trainable": True},
    )  # fmt: skip
    assert samples_of(game) == [("policy", True, 1.0), ("user", reward is not None, reward)]
