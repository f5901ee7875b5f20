"""Checks how a scripted model calls its player, and what it refuses."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from ray_gym.engines.scripted import ScriptedEngine
from ray_gym.engines.scripted_model import ScriptedModel, ScriptedOptions, takes_rng
from ray_gym.errors import UserError
from ray_gym.messages import Message
from ray_gym.models.base import CompletionRequest, EngineCheck, Sampling

REQUEST = CompletionRequest(messages=[Message("user", "hello")], sampling=Sampling(), session_id="s", seed=7)


def draws_a_number(request: CompletionRequest, rng: random.Random) -> Message:
    return Message("assistant", str(rng.random()))


def may_draw(request: CompletionRequest, rng: random.Random | None = None) -> Message:
    return Message("assistant", str(rng is None))


def echoes(request: CompletionRequest, suffix: str = "") -> Message:
    return Message("assistant", request.messages[-1].content + suffix)


def said(player: Any, **arguments: object) -> str:
    model = ScriptedModel(player, arguments, 0)
    return asyncio.run(model.complete(REQUEST)).message.content


def test_a_player_draws_from_the_seed_of_its_call() -> None:
    assert said(draws_a_number) == str(random.Random(7).random())


def test_a_player_that_may_draw_is_given_something_to_draw_from() -> None:
    assert said(may_draw) == "False"


def test_a_player_may_leave_out_what_it_draws_from() -> None:
    assert said(lambda request: Message("assistant", request.messages[-1].content)) == "hello"
    assert said(echoes, suffix="!") == "hello!"


@pytest.mark.parametrize(("player", "arguments"), [(draws_a_number, {"depth": 3}), (lambda: None, {})])
def test_one_that_can_be_called_neither_way_counts_as_if_it_drew(player: Any, arguments: dict[str, int]) -> None:
    assert takes_rng(player, arguments)


number = 5


def drawing(request: CompletionRequest) -> Iterator[Message]:
    yield Message("assistant", "hello")


class Seller:
    """Answers as an object; the class itself is no player."""

    def __call__(self, request: CompletionRequest) -> Message:
        return Message("assistant", "hello")


class Yielding:
    def __call__(self, request: CompletionRequest) -> Iterator[Message]:
        yield Message("assistant", "hello")


seller, yielding = Seller(), Yielding()
NO_PLAYER = "is a class, and a call of it makes no message: name a function that takes (request, rng), or an object"


@pytest.mark.parametrize(
    ("player", "told"),
    [
        ("number", "is no function (found 5)"),
        ("drawing", "has a yield: return the message instead"),
        ("yielding", "has a yield: return the message instead"),
        ("Seller", NO_PLAYER),
        ("Message", NO_PLAYER),
        ("max", "is built in, and its parameters are not known"),
    ],
)
def test_a_player_that_cannot_be_called_is_refused_before_the_run(player: str, told: str) -> None:
    path = f"{'builtins' if player == 'max' else __name__}:{player}"
    with pytest.raises(UserError, match=re.escape(f"models.m.player: {path} {told}")):
        ScriptedEngine(ScriptedOptions(player=path)).check(EngineCheck("m", {}, uses_tools=False))


def test_an_object_that_can_be_called_is_a_player() -> None:
    ScriptedEngine(ScriptedOptions(player=f"{__name__}:seller")).check(EngineCheck("m", {}, uses_tools=False))
    assert said(seller) == "hello"
