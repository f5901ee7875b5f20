"""Checks tools: their schemas, and what a model is told when it gets a call wrong."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from ray_gym import Environment, Participant, ToolCall, ToolError, tool
from ray_gym.errors import EpisodeFailure, FailureKind, UserError
from ray_gym.load_object import load_object
from ray_gym.models.base import Sampling
from ray_gym.tools.answer import ToolAnswer
from ray_gym.tools.calling import LONGEST_RESULT, call_tool
from ray_gym.tools.runner import ToolRunner
from ray_gym.tools.tool import tools_of


class Book(BaseModel):
    title: str
    year: int = 2000


class Box(BaseModel):
    model_config = ConfigDict(extra="ignore")

    book: Book | None = None


class Desk(Environment[Any, Any]):
    @tool()
    def add(
        self,
        state: dict[str, int],
        caller: Participant,
        amount: Annotated[int, Field(ge=0, le=8, description="How many.")],
    ) -> int:
        """Add to the count."""
        state["count"] += amount
        return state["count"]

    @tool()
    def shelve(self, state: Any, caller: Participant, title: str, book: Book, tags: list[str] = []) -> Book:  # noqa: B006
        return Book(title=f"{title}: {book.title}", year=book.year)

    @tool()
    def pack(self, state: Any, caller: Participant, boxes: list[Box]) -> int:
        return len(boxes)

    @tool(participants=("user",))
    def whisper(self, state: Any, caller: Participant, tone: Literal["low", "high"] = "low") -> str:
        return f"{caller.name} in a {tone} voice"

    @tool()
    def parrot(self, state: Any, caller: Participant, text: str) -> list[str]:
        return [text[2:]]

    @tool()
    def refuse(self, state: Any, caller: Participant) -> str:
        raise ToolError("the shop is closed")

    @tool()
    async def refuse_in_a_group(self, state: Any, caller: Participant) -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(self.refuse, state, caller))
        return "sold"

    @tool()
    def refuse_in_its_words(self, state: Any, caller: Participant) -> str:
        raise ToolError("HTTP 422", content='{"detail": "closed"}')

    @tool()
    def crash(self, state: Any, caller: Participant) -> str:
        return str(1 / 0)

    @tool()
    async def wait(self, state: Any, caller: Participant, for_ever: bool) -> str:
        await asyncio.sleep(0 if not for_ever else 3600)
        return "waited"

    @tool(blocking=True)
    def where(self, state: Any, caller: Participant) -> int:
        return threading.get_ident()

    @tool(blocking=True)
    def hang(self, state: threading.Event, caller: Participant) -> str:
        state.wait(10)
        return "late"

    @tool()
    def many(self, state: Any, caller: Participant) -> list[Book]:
        return [Book(title="a"), Book(title="b")]


POLICY = Participant("policy", "m", Sampling(), True, 1, 1)


async def ask(
    name: str, arguments: str = "{}", state: Any = None, caller: str = "policy", deadline_s: float = 5
) -> ToolAnswer:
    participant = Participant(caller, "m", Sampling(), True, 1, 1)
    call = ToolCall("c", name, arguments)
    return await call_tool(Desk(), Desk.tools, state, participant, call, deadline_s, ToolRunner())


def keys_of(node: Any) -> set[str]:
    if isinstance(node, dict):
        return set(node) | {key for value in node.values() for key in keys_of(value)}
    return {key for item in node for key in keys_of(item)} if isinstance(node, list) else set()


def test_the_schema_comes_from_the_signature() -> None:
    schema = Desk.tools["add"].schema
    assert schema.description == "Add to the count."
    assert schema.parameters == {
        "type": "object",
        "properties": {"amount": {"type": "integer", "minimum": 0, "maximum": 8, "description": "How many."}},
        "required": ["amount"],
        "additionalProperties": False,
    }


def test_a_title_within_a_default_or_an_example_survives() -> None:
    class Filing(Environment[Any, Any]):
        @tool()
        def file(
            self,
            state: Any,
            caller: Participant,
            by: Annotated[Any, Field(examples=[{"title": "Persuasion"}])],
            of: dict[str, Any] = {"title": "Emma"},  # noqa: B006
        ) -> str:
            """Puts a book away."""
            return ""

    properties = Filing.tools["file"].schema.parameters["properties"]
    assert properties["by"]["examples"] == [{"title": "Persuasion"}]
    assert properties["of"]["default"] == {"title": "Emma"}


def test_a_property_named_title_survives_and_titles_do_not() -> None:
    parameters = Desk.tools["shelve"].schema.parameters
    assert set(parameters["properties"]) == {"title", "book", "tags"}
    assert parameters["properties"]["title"] == {"type": "string"}
    assert parameters["required"] == ["title", "book"]
    book = parameters["$defs"]["Book"]
    assert set(book["properties"]) == {"title", "year"} and "title" not in set(book)
    assert "title" not in keys_of(Desk.tools["whisper"].schema.parameters)


@pytest.mark.parametrize("given", ["{}", '{"x": null, "y": null, "z": null}', '{"x": 1, "y": {"a": 1}, "z": 2}'])
def test_a_default_of_none_is_a_value_whatever_the_type(given: str) -> None:
    class Shop(Environment[Any, Any]):
        @tool()
        def buy(
            self,
            state: Any,
            caller: Participant,
            x: int = None,  # type: ignore[assignment]  # noqa: RUF013
            y: dict[str, int] = None,  # type: ignore[assignment]  # noqa: RUF013
            z: int = Field(None, ge=1),  # type: ignore[assignment]
        ) -> None: ...

    values = json.loads(given)
    assert Shop.tools["buy"].arguments.read(given) == {name: values.get(name) for name in "xyz"}
    parameters = Shop.tools["buy"].schema.parameters["properties"]
    assert parameters["x"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    with pytest.raises(ValueError, match=r"x.*: Input should be a valid integer"):
        Shop.tools["buy"].arguments.read('{"x": "1"}')


def test_a_tool_without_arguments_has_a_schema_of_an_object() -> None:
    assert Desk.tools["refuse"].schema.parameters["type"] == "object"
    assert Desk.tools["refuse"].schema.parameters["properties"] == {}


def test_a_decorator_without_parentheses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bare_tool.py").write_text("from ray_gym import tool\n\n\n@tool\ndef buy(self, state, caller): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as told:
        load_object("bare_tool:Shop", "environment.id")
    assert str(told.value) == (
        "environment.id: importing bare_tool failed: TypeError: write @tool() above buy, with parentheses; options of it "
        "are given by name (bare_tool.py:4)"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"amount": "3"}', "amount: Input should be a valid integer"),
        ('{"amount": 3.0}', "amount: Input should be a valid integer"),
        ('{"amount": 3.5}', "amount: Input should be a valid integer"),
        ('{"amount": true}', "amount: Input should be a valid integer"),
        ('{"amount": null}', "amount: Input should be a valid integer"),
        ('{"amount": 9}', "amount: Input should be less than or equal to 8"),
        ("{}", "amount: Field required"),
        ("", "amount: Field required"),
        (" ", "amount: Field required"),
        ("null", "amount: Field required"),
        ('{"amount": 1, "more": 2}', "more: Extra inputs are not permitted"),
        ('{"amount": 1, "amount": 2}', "the key 'amount' is given twice"),
        ('{"amount": ', "Invalid JSON"),
        ("three", "Invalid JSON"),
        ("[3]", "Input should be an object"),
        ("3", "Input should be an object"),
    ],
)
async def test_wrong_arguments_are_answered_and_change_nothing(arguments: str, told: str) -> None:
    state = {"count": 0}
    answer = await ask("add", arguments, state)
    assert answer.error is not None and told in answer.error and "bad arguments for add" in answer.error
    assert json.loads(answer.content) == {"error": answer.error}
    assert state == {"count": 0}


async def test_unknown_keys_of_nested_models_are_refused_by_name() -> None:
    answer = await ask("shelve", '{"title": "new", "book": {"title": "Emma", "pages": 1815}}')
    assert answer.error == "bad arguments for shelve: book.pages: Extra inputs are not permitted"
    answer = await ask("pack", '{"boxes": [{"colour": "red", "book": {"title": "Emma", "pages": 1815}}]}')
    assert answer.error == "bad arguments for pack: boxes.0.book.pages: Extra inputs are not permitted"
    assert await ask("pack", '{"boxes": [{"colour": "red", "book": {"title": "Emma"}}]}') == ToolAnswer("1")


def test_the_schema_says_which_models_refuse_unknown_keys() -> None:
    definitions = Desk.tools["pack"].schema.parameters["$defs"]
    assert definitions["Book"]["additionalProperties"] is False and "additionalProperties" not in definitions["Box"]


@pytest.mark.parametrize("arguments", ["", " ", "null", " null\n", "{}"])
async def test_no_arguments_may_be_written_in_several_ways(arguments: str) -> None:
    assert (await ask("where", arguments)).error is None


async def test_arguments_that_are_no_valid_unicode_are_answered_too() -> None:
    answer = await ask("add", '{"amount": "\ud800"}', {"count": 0})  # json.loads of an endpoint's answer lets these in
    assert answer.error is not None and "bad arguments for add" in answer.error


async def test_a_good_call_acts_on_the_state_and_its_result_is_text() -> None:
    state = {"count": 1}
    assert await ask("add", '{"amount": 3}', state) == ToolAnswer("4")
    assert state == {"count": 4}
    answer = await ask("shelve", '{"title": "new", "book": {"title": "Emma"}}')
    assert json.loads(answer.content) == {"title": "new: Emma", "year": 2000}


async def test_results_that_hold_models_are_text_too() -> None:
    answer = await ask("many")
    assert json.loads(answer.content) == [{"title": "a", "year": 2000}, {"title": "b", "year": 2000}]


async def test_unknown_tools_and_tools_of_others_are_refused_with_what_there_is() -> None:
    for name in ("ad", "whisper"):
        answer = await ask(name)
        assert answer.error is not None and answer.error.startswith(f"there is no tool '{name}'; the tools are: add, ")
        assert "whisper" not in answer.error.partition("the tools are")[2]
    unread = await ask("", '{"tone": "high"')
    assert unread.error == """this call can't be read: '{"tone": "high"'; give a name and arguments as JSON"""
    assert await ask("whisper", '{"tone": "high"}', caller="user") == ToolAnswer("user in a high voice")


async def test_a_tool_can_answer_with_an_error() -> None:
    answer = await ask("refuse")
    assert answer.error == "the shop is closed" and json.loads(answer.content) == {"error": "the shop is closed"}
    assert await ask("refuse_in_its_words") == ToolAnswer('{"detail": "closed"}', error="HTTP 422")
    assert (await ask("refuse_in_a_group")).error == "the shop is closed"


async def test_a_result_without_end_is_told_and_not_given() -> None:
    longest = "x" * (LONGEST_RESULT - 2)
    assert len((await ask("parrot", json.dumps({"text": longest}))).content) == LONGEST_RESULT
    answer = await ask("parrot", json.dumps({"text": f"{longest}x"}))
    assert answer.error == "the result of parrot is 1,000,001 characters long, and may have 1,000,000: ask for less"
    assert json.loads(answer.content) == {"error": answer.error}


async def test_a_tool_that_raises_fails_the_episode_and_names_itself() -> None:
    with pytest.raises(EpisodeFailure) as caught:
        await ask("crash")
    failure = caught.value.failure
    assert (failure.kind, failure.where) == (FailureKind.ENVIRONMENT, "tool crash (test_tools.py:81)")
    assert failure.message == "ZeroDivisionError: division by zero"


async def test_an_async_tool_has_a_deadline() -> None:
    assert (await ask("wait", '{"for_ever": false}')).content == "waited"
    began = time.monotonic()
    with pytest.raises(EpisodeFailure) as caught:
        await ask("wait", '{"for_ever": true}', deadline_s=0.01)
    assert (
        caught.value.failure.where == "tool wait (test_tools.py:85)" and "TimeoutError" in caught.value.failure.message
    )
    assert time.monotonic() - began < 5


async def test_a_blocking_tool_runs_in_a_thread_and_has_a_deadline_too() -> None:
    answer = await ask("where")
    assert int(answer.content) != threading.get_ident()
    release = threading.Event()
    try:
        with pytest.raises(EpisodeFailure) as caught:
            await ask("hang", state=release, deadline_s=0.01)
        assert caught.value.failure.kind is FailureKind.ENVIRONMENT and caught.value.failure.where.startswith(
            "tool hang ("
        )
    finally:
        release.set()


def test_signatures_that_cannot_be_tools_are_refused_at_the_class() -> None:
    with pytest.raises(TypeError, match=r"tool bare \(test_tools.py:\d+\): expected \(self, state, caller"):

        class Bare(Environment[Any, Any]):
            @tool()
            def bare(self) -> str:
                return ""

    with pytest.raises(TypeError, match=r"tool give \(test_tools.py:\d+\): parameter amount has no type"):

        class Untyped(Environment[Any, Any]):
            @tool()
            def give(self, state: Any, caller: Any, amount) -> str:  # type: ignore[no-untyped-def]
                return ""


def test_a_tool_that_swaps_state_and_caller_is_refused() -> None:
    told = r"tool show \(test_tools.py:\d+\): expected \(self, state, caller, ...\), found \(self, caller"
    with pytest.raises(TypeError, match=told):

        class Swapped(Environment[Any, Any]):
            @tool()
            def show(self, caller: Any, state: Any) -> str:
                return str(state)


def test_a_subclass_inherits_tools_and_replaces_those_that_it_writes_anew() -> None:
    class Shop(Desk):
        @tool(participants=("policy",))
        def whisper(self, state: Any, caller: Participant, words: str) -> str:
            return words

    tools = tools_of(Shop)
    assert list(tools) == list(Desk.tools)
    assert list(tools["whisper"].schema.parameters["properties"]) == ["words"] and tools["whisper"].participants == (
        "policy",
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((threading.Event(),), "message is a Event; give a text"),
        ((KeyError("secret"),), "message is a KeyError; give a text"),
        (("closed", {"detail": 1}), "content is a dict; give a text"),
    ],
)
def test_an_error_is_told_as_a_text_never_as_an_object(given: tuple[Any, ...], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        ToolError(*given)


@pytest.mark.parametrize(
    ("participants", "told"),
    [
        ("seller_boss", r"write \('seller_boss',\), with a comma"),
        ((1,), "tuple of names"),
        (["user", None], "tuple of names"),
    ],
)
def test_participants_of_a_tool_are_names(participants: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        tool(participants=participants)


class Leaver(Environment[Any, Any]):
    @tool()
    async def leave(self, state: type[BaseException], caller: Participant) -> str:
        raise state


@pytest.mark.parametrize(
    "raised", [SystemExit, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit, BaseException]
)
async def test_a_tool_that_raises_what_is_no_error_is_named(raised: type[BaseException]) -> None:
    environment = Leaver()
    call = ToolCall("1", "leave", "{}")
    with pytest.raises(EpisodeFailure) as caught:
        await call_tool(environment, environment.tools, raised, POLICY, call, 5, ToolRunner())
    assert caught.value.failure.kind == FailureKind.ENVIRONMENT
    assert caught.value.failure.where.startswith("tool leave (test_tools.py:")
    assert caught.value.failure.message.startswith(raised.__name__)


async def test_a_tool_whose_task_is_cancelled_is_cancelled() -> None:
    class Waiter(Environment[Any, Any]):
        @tool()
        async def wait(self, state: asyncio.Event, caller: Participant) -> str:
            state.set()
            await asyncio.Event().wait()
            return ""

    environment, began = Waiter(), asyncio.Event()
    call = ToolCall("1", "wait", "{}")
    task = asyncio.create_task(call_tool(environment, environment.tools, began, POLICY, call, 5, ToolRunner()))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def of_no_caller(self: Any, state: Any, x: int) -> str:
    return "taken"


def of_an_episode(self: Any, state: Any, episode: Any, x: int) -> str:
    return "taken"


def of_a_state_behind(self: Any, episode: Any, caller: Any, x: int) -> str:
    return "taken"


def of_a_list(self: Any, state: Any, names: list[str]) -> str:
    return "taken"


def by_place(self: Any, state: Any, caller: Any, x: int, /) -> str:
    return "taken"


def of_an_agent(self: Any, office: Any, agent: object, x: int) -> str:
    return "taken"


def of_a_name(self: Any, state: Any, caller: str, x: int) -> str:
    return "taken"


@pytest.mark.parametrize(
    ("method", "told"),
    [
        *((method, "expected (self, state, caller, ...)") for method in (of_no_caller, of_an_episode, of_a_list)),
        (of_a_state_behind, "expected (self, state, caller, ...)"),
        (by_place, "parameter x is given by name: drop the / behind it"),
        (of_an_agent, None),
        (of_a_name, None),
    ],
)
def test_what_a_tool_is_given(method: Any, told: str | None) -> None:
    if told is None:
        assert tools_of(type("Own", (), {"go": tool()(method)})).keys() == {"go"}
        return
    with pytest.raises(TypeError, match=re.escape(told)):
        tools_of(type("Own", (), {"go": tool()(method)}))


@pytest.mark.parametrize("effect", ["again", True, ""])
def test_what_an_effect_may_be(effect: Any) -> None:
    with pytest.raises(TypeError, match=r"@tool: effect is one of 'retry', 'fail' \(found "):
        tool(effect=effect)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"memory_mb": "512", "isolated": True}, "memory_mb is a whole number of megabytes, from 1 (found '512')"),
        ({"memory_mb": 0.5, "isolated": True}, "memory_mb is a whole number of megabytes, from 1 (found 0.5)"),
        ({"memory_mb": 0, "isolated": True}, "memory_mb is a whole number of megabytes, from 1 (found 0)"),
        ({"memory_mb": 512}, "memory_mb is an option of a tool with isolated=True"),
        ({"blocking": "yes"}, "blocking is True or False (found 'yes')"),
        ({"isolated": 1}, "isolated is True or False (found 1)"),
        (
            {"participant": ("policy",)},
            "there is no option participant; did you mean participants? the options are: p",
        ),
        ({"timeout": 5}, "there is no option timeout; the options are: participants, blocking, "),
    ],
)
def test_what_options_may_be(options: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(f"@tool: {told}")):
        tool(**options)
