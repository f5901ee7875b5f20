"""Checks broken environments: an episode that can't go on is data, with a kind of failure and its place."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from playing import Talk, calls, play_script

from ray_gym import Opening, Participant, Score, Task, tool
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.score import as_score

HOOKS = ["setup", "opening", "run", "next_speaker", "relay", "narrow", "finished", "score"]


class Tooled(Talk):
    @tool()
    def nod(self, state: Any, caller: Participant) -> str:
        return "nodded"


def breaking(hook: str, library: bool) -> Tooled:
    """Returns an environment in which `hook` does nothing but fail, in its own code or in what it calls."""

    def fail(self: Any, *args: Any) -> None:
        if library:
            json.loads("{")
        raise KeyError("boom")

    async def fail_in_run(self: Any, episode: Any) -> None:
        if library:
            json.loads("{")
        raise KeyError("boom")

    function = fail_in_run if hook == "run" else fail
    function.__code__ = function.__code__.replace(co_name=hook)
    return type("Broken", (Tooled,), {hook: function})()  # type: ignore[no-any-return]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("library", [False, True], ids=["own code", "library"])
async def test_a_hook_that_raises_fails_its_episode_and_is_named(hook: str, library: bool) -> None:
    game = await play_script(breaking(hook, library), ["hello"], ["hi"], policy={"max_turns": 1})
    failure = game.played.failure
    assert game.played.status == "failed" and game.played.score is None and failure is not None
    assert failure.kind is FailureKind.ENVIRONMENT
    assert failure.message.startswith("JSONDecodeError: " if library else "KeyError: 'boom'")
    assert game.stop == (("max_turns", "policy") if hook == "score" else ("failed", failure.message))
    assert game.episode.events[-1].kind == "stop"
    assert hook in failure.where


async def test_a_tool_that_raises_is_named() -> None:
    class Broken(Tooled):
        @tool()
        def nod(self, state: Any, caller: Participant) -> str:
            raise KeyError("boom")

    game = await play_script(Broken(), [calls("nod")])
    assert game.played.status == "failed" and game.played.failure is not None
    assert (game.played.failure.kind, game.played.failure.where) == ("environment", "tool nod (test_failures.py:60)")


async def test_an_opening_for_nobody_is_named() -> None:
    class Broken(Talk):
        def opening(self, task: Task, state: Any) -> Opening:
            return Opening(messages={"polcy": "hello"})

    game = await play_script(Broken(), [])
    assert game.played.failure is not None and game.played.failure.kind == "environment"
    assert "opening() names participant 'polcy'" in game.played.failure.message


async def test_the_kind_of_a_failure_is_kept_where_it_is_known() -> None:
    class Judged(Talk):
        def score(self, state: Any, episode: Any) -> float:
            raise EpisodeFailure(FailureKind.JUDGE, "model judge", "no answer")

    game = await play_script(Judged(), ["a"], ["b"], policy={"max_turns": 1})
    assert game.played.failure is not None
    assert (game.played.failure.kind, game.played.failure.where) == ("judge", "model judge")


WORD: Any = "yes"


def scoring(value: Any) -> Talk:
    return type("Scoring", (Talk,), {"score": lambda self, state, episode: value})()  # type: ignore[no-any-return]


async def test_scores_are_a_number_named_parts_or_a_score() -> None:
    for value, expected in [
        (0.5, Score(0.5)),
        (1, Score(1.0)),
        (True, Score(1.0)),
        ({"right": 1, "short": -0.25}, Score(0.75, parts={"right": 1, "short": -0.25})),
        (Score(2.0, parts={"p": 2.0}, others={"user": -1.0}), Score(2.0, parts={"p": 2.0}, others={"user": -1.0})),
    ]:
        game = await play_script(scoring(value), ["a"], ["b"], policy={"max_turns": 1})
        assert game.played.status == "completed" and game.played.score == expected
        assert isinstance(game.played.score.reward, float)


async def test_a_score_may_be_computed_by_a_coroutine() -> None:
    class Slow(Talk):
        async def setup(self, task: Task, episode: Any) -> dict[str, Any]:  # type: ignore[override]
            return {"worth": 3}

        async def score(self, state: Any, episode: Any) -> float:  # type: ignore[override]
            return float(state["worth"])

    game = await play_script(Slow(), ["a"], ["b"], policy={"max_turns": 1})
    assert game.played.score == Score(3.0)


@pytest.mark.parametrize(
    "value", ["high", None, {"right": "yes"}, [1.0], Score(WORD), Score(1.0, parts={"right": WORD})]
)
async def test_what_is_no_score_fails_the_episode(value: Any) -> None:
    game = await play_script(scoring(value), ["a"], ["b"], policy={"max_turns": 1})
    assert game.played.status == "failed" and game.played.failure is not None
    assert game.played.failure.kind == "environment" and "score" in game.played.failure.where


def test_numbers_of_numpy_are_numbers() -> None:
    import numpy as np

    assert as_score(np.float32(0.5)) == Score(0.5)  # type: ignore[arg-type]
    assert as_score(np.int64(2)) == Score(2.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("raised", [asyncio.CancelledError, SystemExit, KeyboardInterrupt, GeneratorExit])
async def test_what_would_end_a_worker_ends_one_episode(raised: type[BaseException]) -> None:
    class Broken(Talk):
        def finished(self, state: Any, episode: Any) -> str | None:
            raise raised

    game = await play_script(Broken(), ["hello"])
    assert game.played.failure is not None and game.played.failure.where == "Broken.finished (test_failures.py:139)"
    assert game.played.status == "failed"


async def test_what_is_told_must_be_text() -> None:
    class Broken(Talk):
        def relay(self, state: Any, episode: Any, turn: Any, listener: Any) -> Any:
            return 5

    game = await play_script(Broken(), ["hello"], ["hi"])
    assert game.played.status == "failed" and game.played.failure is not None
    assert "it returned 5, a int; expected a text, or None" in game.played.failure.message
    assert "relay" in game.played.failure.where


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": float("-inf")}, {"a": 1e308, "b": 1e308}])
def test_a_score_is_finite(value: Any) -> None:
    with pytest.raises(ValueError, match="no reward"):
        as_score(value)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"reward": 0.2, "form": 0.3}, "a part named 'reward'"),
        (Score(0.5, parts={"reward": 0.5}), "a part named 'reward'"),
        (Score(0.5, others={"policy": 7.0}), "another reward for the policy"),
        ({" ": 0.1}, "a number without a name: [' ']"),
        ({1: 0.1, "1": 0.2}, "two numbers under one name: [1, '1']"),
        (Score(0.5, parts={True: 0.1, "True": 0.2}), "two numbers under one name"),  # type: ignore[dict-item]
    ],
)
async def test_no_reward_has_two_values(value: Any, told: str) -> None:
    game = await play_script(scoring(value), ["a"], ["b"], policy={"max_turns": 1})
    assert game.played.failure is not None and told in game.played.failure.message


class Forking(Talk):
    @tool()
    async def fork(self, state: Any, caller: Participant) -> str:
        """Loses a task of a group, which Python before 3.13 lets the whole task count as cancelled for."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.fail())
        except* ValueError:
            pass
        return "forked"

    async def fail(self) -> None:
        raise ValueError

    @tool()
    def stop(self, state: Any, caller: Participant) -> str:
        raise asyncio.CancelledError


async def test_a_cancelled_error_is_a_failure_also_after_a_group_of_tasks_failed() -> None:
    game = await play_script(Forking(), [calls("fork"), calls("stop")])
    assert game.played.status == "failed" and game.played.failure is not None
    assert game.played.failure.message == "CancelledError"
