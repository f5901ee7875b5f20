"""Tests the base class of engines, and the parts that only some have."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from ray_gym.engines.scripted import ScriptedEngine
from ray_gym.engines.scripted_model import ScriptedModel, ScriptedOptions
from ray_gym.errors import UserError
from ray_gym.models import base, engine
from ray_gym.models.base import Engine, EngineCheck, Model
from ray_gym.plugins import find_engine
from ray_gym.testing import says

NAMES = ("OnNodes", "Served", "OnAnother", "HasDoor", "OpensDoor", "Tokenizing")
PARTS = {name: getattr(engine, name) for name in NAMES}


class Smallest(Engine):
    def connect(self) -> Model:
        return ScriptedModel(says("hello"), {}, 0)


def test_the_smallest_engine_has_a_default_for_everything_else() -> None:
    one = Smallest(Smallest.Options())
    one.check(EngineCheck("m", {}, uses_tools=False))
    one.start("run", "m", print)
    assert (one.gpus(), one.gives_tokens, one.reshapes) == (0, False, "")
    assert not [name for name, part in PARTS.items() if isinstance(one, part)]
    one.stop()
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Smallest.Options(model="x")  # type: ignore[call-arg]


def test_an_engine_that_does_not_connect_is_none() -> None:
    with pytest.raises(TypeError, match="connect"):
        type("Silent", (Engine,), {})(None)


class Priced(ScriptedEngine):
    class Options(ScriptedOptions):
        price: int = 1


def test_an_option_that_a_config_cannot_give_is_refused() -> None:
    with pytest.raises(UserError, match=r"models\.m\.engine: Priced\.Options\.price is a key of every model: rename"):
        find_engine("test_engine:Priced", "models.m.engine")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("scripted", set()),
        ("openai", {"OpensDoor"}),
        ("vllm_endpoint", {"OpensDoor", "Tokenizing"}),
        ("vllm", {"OnNodes", "Served", "HasDoor", "Tokenizing"}),
        ("vllm_reward", {"OnNodes", "Served"}),
        ("vllm_adapter", {"Served", "OnAnother", "Tokenizing"}),
    ],
)
def test_the_parts_of_our_engines(name: str, parts: set[str]) -> None:
    found: Any = find_engine(name, "models.m.engine")
    assert issubclass(found, Engine)
    members = {part: _members(protocol) for part, protocol in PARTS.items()}
    assert {part for part, needed in members.items() if needed <= set(dir(found))} == parts


def _members(protocol: type) -> set[str]:
    declared = {*vars(protocol), *vars(protocol).get("__annotations__", {})}
    return {name for name in declared if not name.startswith("_")}


def test_the_page_at_the_top_lists_every_part() -> None:
    listed = set(re.findall(r"^    ([A-Z]\w+) +(?:engine|model) ", engine.__doc__ or "", re.MULTILINE))
    assert listed == {*PARTS, "Counting", "Gated", "Paced", "Sized", "Warns"}


def test_what_was_in_base_is_in_base() -> None:
    assert base.Engine is engine.Engine and base.EngineCheck is engine.EngineCheck
