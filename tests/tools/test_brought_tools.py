"""Checks tools that a task or a library brings along: their schemas are data, and one method answers for them all."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from playing import Alone, Game, bare, calls, play_script
from pydantic import BaseModel

from ray_gym import (
    Environment,
    Episode,
    Message,
    Participant,
    Task,
    Tool,
    ToolCall,
    ToolError,
    ToolSchema,
    tool,
    tool_by_schema,
)
from ray_gym.errors import FailureKind
from ray_gym.tools.arguments import ArgumentsByModel, ArgumentsBySchema, BadArguments

MOVE = {
    "type": "object",
    "properties": {
        "to": {"$ref": "#/$defs/place"},
        "steps": {"type": "integer", "minimum": 1},
        "how": {"type": "array", "items": {"enum": ["fast", "slow"]}},
    },
    "required": ["to"],
    "additionalProperties": False,
    "$defs": {"place": {"type": "string", "pattern": "^[a-h][1-8]$"}},
}


class RobotTask(Task):
    tools: tuple[dict[str, Any], ...] = ()


class Robot(Environment[RobotTask, dict[str, Any]]):
    """It has a tool of its own, and those of its task."""

    blocking, effect = False, False

    def setup(self, task: RobotTask, episode: Episode) -> dict[str, Any]:
        return {"done": [], "threads": set()}

    def tools_for(self, task: RobotTask, state: dict[str, Any]) -> Sequence[Tool]:
        effect = "retry" if self.effect else None
        schemas = map(ToolSchema.from_openai, task.tools)
        return [tool_by_schema(one, self.answer, blocking=self.blocking, effect=effect) for one in schemas]

    def opening(self, task: RobotTask, state: dict[str, Any]) -> Any:
        return Alone().opening(task, state)

    @tool()
    def halt(self, state: dict[str, Any], caller: Participant) -> str:
        """Stop where you are."""
        return "stopped"

    def answer(self, state: dict[str, Any], caller: Participant, name: str, arguments: dict[str, Any]) -> Any:
        state["threads"].add(threading.get_ident())
        if name == "fall":
            raise ToolError("not over that edge")
        if name == "break":
            raise KeyError("wheel")
        state["done"].append((caller.name, name, arguments))
        return {"done": len(state["done"])}

    def score(self, state: dict[str, Any], episode: Episode) -> float:
        return len(state["done"])


class BlockingRobot(Robot):
    blocking = True


class RobotWithEffects(Robot):
    effect = True


def function(name: str, parameters: Any = None) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": f"To {name}.", "parameters": parameters}


TASK = RobotTask(tools=(function("move", MOVE), function("fall"), function("break")))


async def play(*replies: str | Message, task: RobotTask = TASK, environment: Robot | None = None) -> Game:
    return await play_script(environment or Robot(), replies, task=task, policy={"max_steps_per_turn": 9})


async def test_they_are_shown_after_those_of_the_class_and_stay_the_same() -> None:
    game = await play(calls("move", to="a1"), calls("move", to="b2"), "There.")
    requests = game.models["policy"].requests
    assert [schema.name for schema in requests[0].tools] == ["halt", "move", "fall", "break"]
    assert requests[0].tools[1] == ToolSchema("move", "To move.", MOVE)
    assert requests[0].tools[2].parameters == {"type": "object", "properties": {}}
    for request in requests:
        assert all(
            now is first is allowed
            for now, first, allowed in zip(request.tools, requests[0].tools, request.allowed_tools, strict=True)
        )


async def test_one_method_answers_for_them_by_name() -> None:
    game = await play(calls("move", to="a1", steps=2), calls("halt"), "There.")
    assert game.episode.state["done"] == [("policy", "move", {"to": "a1", "steps": 2})]
    assert game.texts("tool_result") == ['{"done":1}', "stopped"]
    assert game.played.score is not None and game.played.score.reward == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"to": "z9"}', "to: 'z9' does not match '^[a-h][1-8]$'"),
        ('{"to": 3}', "to: 3 is not of type 'string'"),
        ('{"to": "a1", "steps": "2"}', "steps: '2' is not of type 'integer'"),
        ('{"to": "a1", "steps": true}', "steps: True is not of type 'integer'"),
        ('{"to": "a1", "steps": 0}', "steps: 0 is less than the minimum of 1"),
        ('{"to": "a1", "how": ["fast", "well"]}', "how.1: 'well' is not one of ['fast', 'slow']"),
        ('{"to": "a1", "more": 1}', "('more' was unexpected)"),
        ('{"steps": NaN, "to": "a1"}', "Invalid JSON"),
        ("{}", "'to' is a required property"),
        ("", "'to' is a required property"),
        ('{"to": ', "Invalid JSON"),
        ('{"to": "\\ud800"}', "does not match"),
        ('{"to": "\ud800"}', "does not match"),  # replaced as soon as the model has written it
        ("[" * 100_000, "Invalid JSON"),
        ('["a1"]', "['a1'] is not of type 'object'"),
    ],
)
async def test_wrong_arguments_are_answered_and_never_reach_the_method(arguments: str, told: str) -> None:
    game = await play(Message("assistant", tool_calls=(ToolCall("call", "move", arguments),)), "I give up.")
    (result,) = [event for event in game.episode.events if event.kind == "tool_result"]
    assert result.error is not None and result.error.startswith("bad arguments for move: ") and told in result.error
    assert json.loads(result.content) == {"error": result.error}
    assert game.played.status == "completed" and game.episode.state["done"] == []


async def test_many_problems_are_told_in_part() -> None:
    with pytest.raises(BadArguments) as caught:
        ArgumentsBySchema({"type": "object", "additionalProperties": {"type": "integer"}}).read(
            json.dumps(dict.fromkeys("abcdefghij", "x"))
        )
    assert str(caught.value).count("is not of type 'integer'") == 5


async def test_the_method_can_refuse_and_what_it_raises_fails_the_episode_with_the_tools_name() -> None:
    refused = await play(calls("fall"), "Then not.")
    assert refused.texts("tool_result") == ['{"error": "not over that edge"}']
    broken = (await play(calls("break"))).played.failure
    assert broken is not None and broken.kind is FailureKind.ENVIRONMENT
    assert (bare(broken.where), broken.message) == ("tool break", "KeyError: 'wheel'")


async def test_they_may_run_in_threads_or_have_effects() -> None:
    inline = await play(calls("move", to="a1"), "There.")
    assert inline.episode.state["threads"] == {threading.get_ident()}
    for environment in (BlockingRobot(), RobotWithEffects()):
        game = await play(calls("move", to="a1"), calls("fall"), "There.", environment=environment)
        assert game.texts("tool_result") == ['{"done":1}', '{"error": "not over that edge"}']
        elsewhere = threading.get_ident() not in game.episode.state["threads"]
        assert elsewhere is environment.blocking


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        ([function("halt")], "there are two tools with the name 'halt'"),
        ([function("a"), function("a")], "there are two tools with the name 'a'"),
        ([function("")], "a tool needs a name"),
        ([{"type": "web_search"}], "expected a tool of type function"),
        ([function("a", "none")], "tool a: parameters: expected a JSON schema"),
        ([function("a", {"type": "array"})], "tool a: parameters: its type must be object"),
        ([function("a", {"required": 1})], "tool a: parameters: it is no JSON schema: required: 1 is not of type"),
        ([function("a", {"properties": {"b": {"pattern": "("}}})], "it is no JSON schema: properties.b.pattern: '('"),
        ([function("a", {"properties": {"b": {"$ref": "#/$defs/c"}}})], "it refers to '#/$defs/c', which is not in it"),
        (
            [function("a", {"properties": {"b": {"$ref": "https://example.org/c.json"}}})],
            "it refers to 'https://example.org/c.json', which is not in it",
        ),
    ],
)
async def test_tools_that_can_not_be_fail_the_episode_before_it_starts(tools: list[Any], told: str) -> None:
    failure = (await play(task=RobotTask(tools=tuple(tools)))).played.failure
    assert failure is not None and bare(failure.where) == "Robot.tools_for" and told in failure.message


class Library:
    """It has tools, and is no environment; its method has the name of one of Robot."""

    def answer(self, state: Any, caller: Participant, name: str, arguments: dict[str, Any]) -> str:
        return f"the library carries out {name}"


async def answer_alone(state: Any, caller: Participant, name: str, arguments: dict[str, Any]) -> str:
    return f"a function carries out {name} on {state['done']}"


class Answered(Robot):
    """It has one tool, for which what it is made with answers."""

    def __init__(self, method: Any, **options: Any) -> None:
        super().__init__()
        self.method, self.of_tool = method, options

    def tools_for(self, task: RobotTask, state: dict[str, Any]) -> Sequence[Tool]:
        return [tool_by_schema(ToolSchema("move", "d", MOVE), self.method, **self.of_tool)]


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (Library().answer, "the library carries out move"),
        (answer_alone, "a function carries out move on []"),
        (lambda state, caller, name, arguments: arguments["to"], "a1"),
        (partial(Library.answer, Library()), "the library carries out move"),
    ],
)
async def test_the_function_that_is_given_answers_and_none_of_its_name(method: Any, told: str) -> None:
    game = await play(calls("move", to="a1"), "There.", environment=Answered(method))
    assert game.texts("tool_result") == [told]


async def test_what_such_a_function_raises_has_its_place() -> None:
    broken = (
        await play(calls("move", to="a1"), environment=Answered(lambda state, caller, name, arguments: 1 / 0))
    ).played
    assert broken.failure is not None and broken.failure.where.startswith("tool move (test_brought_tools.py:")


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (Robot.answer, "tool move: Robot.answer (test_brought_tools.py:"),
        (
            Robot().halt,
            "can't be called with (state, caller, name, arguments): got an unexpected keyword argument 'name'",
        ),
        (
            "answer",
            "tool move: 'answer' can't be called with (state, caller, name, arguments): 'answer' is not a callable",
        ),
    ],
)
async def test_a_function_that_can_not_answer_fails_the_episode_before_it_starts(method: Any, told: str) -> None:
    failure = (await play(environment=Answered(method))).played.failure
    assert failure is not None and bare(failure.where) == "Answered.tools_for" and told in failure.message


def test_a_tool_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="a tool needs a name"):
        tool_by_schema(ToolSchema("", "d", MOVE), answer_alone)


async def test_a_schema_that_never_ends_is_the_arguments_problem() -> None:
    endless = {"type": "object", "properties": {"a": {"allOf": [{"$ref": "#/properties/a"}]}}}
    with pytest.raises(BadArguments, match="nested too deeply"):
        ArgumentsBySchema(endless).read('{"a": 1}')


class OfNumber(BaseModel):
    x: float


@pytest.mark.parametrize("text", ['{"x": NaN}', '{"x": Infinity}', '{"x": 1e400}', '{"x": -1e999}'])
def test_numbers_that_json_has_not_are_no_arguments(text: str) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "number"}}}
    for arguments in (ArgumentsByModel(OfNumber), ArgumentsBySchema(schema)):
        assert arguments.read('{"x": 1e30}') == {"x": 1e30}
        with pytest.raises(BadArguments, match="Invalid JSON"):
            arguments.read(text)


def test_both_spellings_of_a_tool_are_read() -> None:
    schema = ToolSchema("move", "To move.", {"type": "object", "properties": {}})
    assert ToolSchema.from_openai(schema.as_openai()) == schema
    assert ToolSchema.from_openai({"type": "function", **schema.as_openai()["function"]}) == schema
    assert ToolSchema.from_openai({"name": "move"}) == ToolSchema("move", "", schema.parameters)


def test_an_environment_says_whether_it_brings_tools() -> None:
    assert Robot.brings_tools() and not Alone.brings_tools()
