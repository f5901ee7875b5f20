"""Checks that a tool is refused whose parameters can't be the arguments of a call, with its place and the parameter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Final

import numpy as np
import pytest
from pydantic import BeforeValidator, Field

from ray_gym import Environment, IdempotencyKey, Participant, tool
from ray_gym.messages import ToolCall
from ray_gym.models.base import Sampling
from ray_gym.tools.answer import ToolAnswer
from ray_gym.tools.calling import call_tool
from ray_gym.tools.runner import ToolRunner
from ray_gym.tools.tool import tools_of


def gathered(self: Any, state: Any, caller: Any, *xs: str) -> None: ...
def gathered_by_name(self: Any, state: Any, caller: Any, **xs: str) -> None: ...
def gathered_without_a_type(self: Any, state: Any, caller: Any, **xs) -> None: ...  # type: ignore[no-untyped-def]
def private(self: Any, state: Any, caller: Any, amount: int, _id: int) -> None: ...
def configured(self: Any, state: Any, caller: Any, model_config: str) -> None: ...
def dumped(self: Any, state: Any, caller: Any, model_dump: str, model_name: str) -> None: ...
def caller_by_name(self: Any, state: Any, *, caller: Any, amount: int) -> None: ...
def of_numpy(self: Any, state: Any, caller: Any, amount: int, xs: np.ndarray) -> None: ...
def of_code(self: Any, state: Any, caller: Any, key: Callable[[int], int]) -> None: ...
def of_perhaps_a_key(self: Any, state: Any, caller: Any, key: IdempotencyKey | None = None) -> None: ...
def of_what_is_final(self: Any, state: Any, caller: Any, amount: Final[int] = 3) -> None: ...  # type: ignore[valid-type]
def of_nothing(self: Any, state: Any, caller: Any, amount: Nope) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (gathered, "parameter xs: arguments are given by name: drop the *, and take a list"),
        (gathered_by_name, "parameter xs: a schema names each argument: name them, or drop the **, and take a dict"),
        (gathered_without_a_type, "parameter xs: a schema names each argument"),
        (private, "parameter _id: pydantic has no field of that name: rename it (models are shown _id nevertheless "),
        (configured, "parameter model_config: pydantic has no field of that name"),
        (dumped, "parameter model_dump: pydantic has no field of that name"),
        (caller_by_name, "expected (self, state, caller, ...), found "),
        (of_numpy, "parameter xs: numpy.ndarray can't be read from JSON: Unable to generate pydantic-core schema"),
        (of_code, "parameter key: collections.abc.Callable[[int], int] can't be read from JSON: Cannot generate a "),
        (of_perhaps_a_key, "parameter key: ray_gym.tools.answer.IdempotencyKey | None can't be read from JSON: "),
        (of_what_is_final, "can't be read: TypeError: typing.Final[int] is not valid as type argument"),
        (of_nothing, "can't be read: NameError: name 'Nope' is not defined"),
    ],
)
def test_a_parameter_that_can_be_no_argument_is_refused_with_its_place(method: Any, told: str) -> None:
    with pytest.raises(TypeError) as refused:
        tools_of(type("Shop", (), {"go": tool(effect="retry")(method)}))
    line = method.__code__.co_firstlineno
    assert str(refused.value).startswith(f"tool go (test_parameters_of_tools.py:{line}): ")
    assert told in str(refused.value)


def of_unseen_types(self: Any, state: Nope, caller: Nope, amount: int) -> Nope: ...  # type: ignore[name-defined]  # noqa: F821
def of_an_unseen_agent(self: Any, state: Any, agent: Nope, amount: int) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("method", [of_unseen_types, of_an_unseen_agent])
def test_types_that_only_type_checkers_see_are_taken_where_none_is_needed(method: Any) -> None:
    schema = tools_of(type("Shop", (), {"go": tool()(method)}))["go"].schema
    assert schema.parameters["properties"] == {"amount": {"type": "integer"}}


def of_words_of_pydantic(self: Any, state: Any, caller: Any, json: str, schema: str, copy: str, dict: str) -> None: ...


@pytest.mark.filterwarnings("error")
def test_parameters_may_have_names_that_pydantic_warns_of() -> None:
    schema = tools_of(type("Shop", (), {"go": tool()(of_words_of_pydantic)}))["go"].schema
    assert list(schema.parameters["properties"]) == ["json", "schema", "copy", "dict"]


class Desk:
    @tool()
    def give(self, state: Any, caller: Any, of_id: Annotated[str, Field(alias="_id")], model_name: str) -> str:
        return f"{of_id}, {model_name}"


async def test_an_alias_gives_an_argument_a_name_that_no_field_can_have() -> None:
    tools = tools_of(Desk)
    assert list(tools["give"].schema.parameters["properties"]) == ["_id", "model_name"]
    caller = Participant("policy", "m", Sampling(), True, 1, 1)
    call = ToolCall("c", "give", '{"_id": "a", "model_name": "b"}')
    assert await call_tool(Desk(), tools, None, caller, call, 5, ToolRunner()) == ToolAnswer("a, b")


def test_an_optional_parameter_keeps_what_its_field_says() -> None:
    class Registry(Environment[Any, Any]):
        @tool()
        def look(
            self,
            state: Any,
            caller: Participant,
            id_: Annotated[str | None, Field(alias="_id", description="Its id.")] = None,
            city: Annotated[str, Field(alias="state", max_length=2)] = None,  # type: ignore[assignment]  # noqa: RUF013
            rank: Annotated[int, BeforeValidator(int), Field(description="Its rank.")] = None,  # type: ignore[assignment]  # noqa: RUF013
        ) -> str:
            """Looks somebody up."""
            return ""

    look = Registry.tools["look"]
    null = {"type": "null"}
    assert look.schema.parameters["properties"] == {
        "_id": {"anyOf": [{"type": "string"}, null], "default": None, "description": "Its id."},
        "state": {"anyOf": [{"maxLength": 2, "type": "string"}, null], "default": None},
        "rank": {"anyOf": [{"type": "integer"}, null], "default": None, "description": "Its rank."},
    }
    given = look.arguments.read('{"_id": "5", "state": "NY", "rank": null}')
    assert given == {"id_": "5", "city": "NY", "rank": None}


def test_a_default_that_json_does_not_have_is_not_shown() -> None:
    class Market(Environment[Any, Any]):
        @tool()
        def search(self, state: Any, caller: Participant, at_most: float = math.inf) -> str:
            """Looks for wares."""
            return ""

    search = Market.tools["search"]
    assert search.schema.parameters["properties"] == {"at_most": {"type": "number"}}
    assert search.arguments.read("{}") == {"at_most": math.inf}


def test_a_default_within_an_annotated_is_one() -> None:
    class Market(Environment[Any, Any]):
        @tool()
        def buy(
            self,
            state: Any,
            caller: Participant,
            count: Annotated[int, Field(default=5, description="How many.")],
            of: Annotated[str | None, Field(default=None)],
        ) -> str:
            """Gives wares to the caller."""
            return ""

    buy = Market.tools["buy"]
    assert buy.schema.parameters["properties"]["count"] == {"default": 5, "description": "How many.", "type": "integer"}
    assert buy.arguments.read("{}") == {"count": 5, "of": None}
