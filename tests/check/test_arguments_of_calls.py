"""Checks that the players of a check make arguments for any JSON schema, and are not taken for the environment's."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from faulty_orders import Sound
from jsonschema import Draft202012Validator

from ray_gym.check import players
from ray_gym.check.all_checks import carry_out
from ray_gym.check.arguments import broken_arguments, fitting_arguments
from ray_gym.check.other_process import OtherProcess
from ray_gym.check.subject import subject_of
from ray_gym.environment import Options
from ray_gym.messages import ToolSchema

NODE = {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}
PROPERTIES: dict[str, dict[str, Any]] = {
    "definitions": {"x": {"$ref": "#/definitions/X"}},
    "a property": {"x": {"$ref": "#/properties/y"}, "y": {"type": "integer"}},
    "an alternative": {
        "x": {"$ref": "#/properties/y/anyOf/1"},
        "y": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
    },
    "a tree": {"x": {"type": "integer"}, **{name: {"$ref": "#"} for name in ("left", "middle", "right")}},
    "a list that ends": {"x": {"$ref": "#/$defs/Node"}},
    "anything": {"x": True},
    "items of any kind": {"x": {"type": "array", "items": True, "minItems": 1.0}},
    "no items": {"x": {"type": "array", "items": False}},
    "several types": {"x": {"type": ["integer", "null"]}},
    "a part of its own": {"x": {"allOf": [{"$ref": "#/definitions/X"}]}},
    "a short text": {"x": {"type": "string", "maxLength": 2.0}},
}
SHARED = {
    "definitions": {"X": {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}},
    "$defs": {"Node": {"type": "object", "properties": {"a": NODE, "b": NODE}, "required": ["a", "b"]}},
}


@pytest.mark.parametrize("properties", PROPERTIES.values(), ids=PROPERTIES)
def test_arguments_fit_the_schema(properties: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": properties, "required": ["x"], **SHARED}
    tool, validator = ToolSchema("look", "", schema), Draft202012Validator(schema)
    for seed in range(50):
        arguments = fitting_arguments(tool, random.Random(seed), lambda: "some words")
        assert validator.is_valid(json.loads(arguments)), arguments
    assert broken_arguments(tool)


@pytest.mark.parametrize(
    "properties", [{"x": {"$ref": "#"}, "y": {"$ref": "#"}}, {"x": {"$ref": "#/properties/x"}}, {"x": {"enum": []}}]
)
def test_a_schema_that_nothing_fits_ends_no_player(properties: dict[str, Any]) -> None:
    tool = ToolSchema("look", "", {"type": "object", "properties": properties, "required": list(properties)})
    assert json.loads(fitting_arguments(tool, random.Random(0), lambda: "some words"))["x"]


class WithoutPerfectPlayers(Sound):
    def perfect(self, task: Any) -> dict[str, Any]:
        return {}


@pytest.mark.environments
async def test_a_player_of_the_checks_own_is_not_the_perfect_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> str:
        raise KeyError("X")

    monkeypatch.setattr(players, "fitting_arguments", fail)
    with OtherProcess() as process:
        report = await carry_out(subject_of("x", WithoutPerfectPlayers, Options(), 2, seed=0), process)
    found = next(outcome.findings for outcome in report.outcomes if outcome.check.name == "hooks")
    assert found and all(one.where.startswith("check-env's own player of ") for one in found)
