"""Checks which results of tools become text for a model, and that others are the environment's fault, by name."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

import pytest
from playing import Alone, calls, play_script
from pydantic import BaseModel, Field

from ray_gym import Participant, tool
from ray_gym.errors import FailureKind
from ray_gym.tools.answer import as_text


@dataclass
class State:
    shown: int = 1
    hidden: str = "SECRET"


class Answer(BaseModel):
    text: str
    left: float = 1.5


class Pair(NamedTuple):
    shown: int = 1
    hidden: str = "SECRET"


class Whole(Enum):
    STATE = State()


class Holder(BaseModel):
    held: Any = None
    declared: State | None = None
    tags: set[str] = set()
    secret: Any = Field(None, exclude=True)


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as it is", "as it is"),
        ("half \ud83d", "half ?"),
        ({"text": "\ud83d"}, '{"text":"?"}'),
        ({"\ud83d": ["a\udc00"]}, '{"?":["a?"]}'),
        (Answer(text="\ud83d"), '{"text":"?","left":1.5}'),
        ([Answer(text="x")], '[{"text":"x","left":1.5}]'),
        ((1, None, True, 2.5, "ü"), '[1,null,true,2.5,"ü"]'),
        ({1: "one"}, '{"1":"one"}'),
        ({"when": datetime.date(2026, 1, 2), "of": Colour.RED}, '{"when":"2026-01-02","of":"red"}'),
        (None, "null"),
        (
            Holder(held=[1, {"a": Colour.RED}], tags={"x"}, secret={1}),
            '{"held":[1,{"a":"red"}],"declared":null,"tags":["x"]}',
        ),
        (Decimal("1.50"), '"1.50"'),
    ],
)
def test_results_that_are_text_or_json(result: Any, text: str) -> None:
    assert as_text(result) == text


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (State(), "it returned a State"),
        ({"state": State()}, "it returned a State"),
        ({1, 2}, "it returned a set"),
        (b"x", "it returned a bytes"),
        (Pair(), "it returned a Pair"),
        ([Pair()], "it returned a Pair"),
        (Whole.STATE, "it returned a State"),
        (Holder(held=State()), "it returned a State"),
        (Holder(held=[{"x": State()}]), "it returned a State"),
        (Holder(held={1}), "it returned a set"),
        (Holder(held=Pair()), "it returned a Pair"),
        (Holder(held=Whole.STATE), "it returned a State"),
        (Decimal("NaN"), "it returned NaN"),
        ([Decimal("Infinity")], "it returned Infinity"),
        (float("nan"), "it returned nan"),
        ({"mean": [float("inf")]}, "it returned inf"),
        (Answer(text="x", left=float("nan")), "it returned nan"),
        ({("a", 1): 2}, "it returned a mapping with a tuple as a key"),
        (object(), "it returned a object"),
    ],
)
async def test_others_fail_the_episode_by_the_tools_name(result: Any, error: str) -> None:
    class Giving(Alone):
        @tool()
        def give(self, state: Any, caller: Participant) -> Any:
            return result

    game = await play_script(Giving(), [calls("give"), "42"])
    failure = game.played.failure
    assert failure is not None and failure.kind is FailureKind.ENVIRONMENT and failure.where.startswith("tool give")
    assert error in failure.message and "SECRET" not in failure.message
    assert not any("SECRET" in event.content for event in game.episode.events)
