"""Checks that results of effects are made fit for the journal, and that one that can't be names the author's line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playing import Alone, calls, play_script
from pydantic import BaseModel
from replayed import Plain, attempt, cut, words

from ray_gym import Episode, Participant, ToolError, tool
from ray_gym.errors import FailureKind

VALUES: list[tuple[Any, Any]] = [
    ("\ud83d", "?"),
    ({"\ud83d": ["half \ud83d"]}, {"?": ["half ?"]}),
    (10**30, 10**30),
    ([-(2**63), 2**64 - 1, -(2**63) - 1, 2**64], [-(2**63), 2**64 - 1, -(2**63) - 1, 2**64]),
    ({10**30: True, (1, 2): 3, 4: 5}, {str(10**30): True, (1, 2): 3, 4: 5}),
    (np.float64(1.5), 1.5),
    ({"n": np.int64(3), np.int64(4): np.bool_(True)}, {"n": 3, 4: True}),
    (np.longdouble(2), 2.0),
    (b"\xff", b"\xff"),
    ({7}, [7]),
    (Path("a/b"), "a/b"),
]


class Offer(BaseModel):
    name: str
    amount: int


class Effects(Plain):
    """Makes an effect with each value, which is also its argument, and notes what it is given."""

    async def run(self, episode: Episode) -> None:
        for value, _ in [*VALUES, (Offer(name="\ud83d", amount=10**30), None)]:

            async def make(key: str, value: Any = value) -> Any:
                return value

            episode.note(repr(await episode.effect("x", make, value)))
        await episode.turn("policy")


async def test_odd_results_are_taken_and_replayed(tmp_path: Path) -> None:
    first = await attempt(tmp_path, Effects(), words)
    assert first.played.status == "completed", first.played.failure
    notes = [event.content for event in first.played.episode.events if event.kind == "note"]
    assert notes == [*(repr(fit) for _, fit in VALUES), repr({"name": "?", "amount": 10**30})]
    again = await attempt(tmp_path, Effects(), words, [cut(first, len(first.answered))])
    assert again.played.status == "completed", again.played.failure
    assert again.row == first.row


async def make_object(key: str) -> Any:
    return object()


async def make_circle(key: str) -> Any:
    circle: list[Any] = []
    circle.append(circle)
    return circle


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (make_object, "TypeError: it returned a object, which the journal can't hold: return a text, numbers, "),
        (make_circle, "ValueError: it returned data that holds itself, or is nested too deeply"),
    ],
)
async def test_the_authors_line_is_named_for_one_that_is_refused(make: Callable[[str], Any], message: str) -> None:
    class Refused(Alone):
        async def score(self, state: Any, episode: Episode) -> float:
            return float(await episode.effect("x", make))

    failure = (await play_script(Refused(), ["42"])).played.failure
    assert failure is not None and failure.kind is FailureKind.ENVIRONMENT and failure.message.startswith(message)
    assert failure.where == f"effect x (test_results_of_effects.py:{make.__code__.co_firstlineno})"


class Refusing(Alone):
    @tool(effect="retry")
    async def buy(self, state: Any, caller: Participant) -> str:
        raise ToolError("out of \ud83d")


async def test_a_refusal_by_a_tool_with_an_effect_may_have_half_a_character() -> None:
    game = await play_script(Refusing(), [calls("buy"), "42"])
    assert game.played.failure is None and game.texts("tool_result") == ['{"error": "out of ?"}']
