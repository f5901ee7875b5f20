"""Our tool format among vLLM's own parsers, as its serving classes use it. Imports vLLM, but starts no engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.messages import ToolSchema

LOOK = ToolSchema("look", "Look.", {"type": "object", "properties": {"at": {"type": "integer"}}})
WAIT = ToolSchema("wait", "", {"type": "object", "properties": {}})
SAID = 'I look.\nlook {"at": 1}\nwait {}'


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    import transformers

    if not checkpoint_dir().exists():
        pytest.fail("the small model was not fetched: make model")
    return transformers.AutoTokenizer.from_pretrained(checkpoint_dir())


def chat(choice: Any, tools: tuple[ToolSchema, ...] = (LOOK, WAIT)) -> Any:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    given = [tool.as_openai() for tool in tools] or None
    return ChatCompletionRequest(messages=[{"role": "user", "content": ""}], tools=given, tool_choice=choice)


def responses(choice: Any) -> Any:
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

    tools = [{"type": "function", "strict": False, **tool.as_openai()["function"]} for tool in (LOOK, WAIT)]
    return ResponsesRequest(input="", tools=tools, tool_choice=choice)


def parser(tokenizer: Any, request: Any) -> Any:
    from vllm.parser.parser_manager import ParserManager
    from vllm.tool_parsers import ToolParserManager

    ToolParserManager.register_lazy_module("plain", "ray_gym.deployments.chat.plain_tool_parser", "PlainToolParser")
    return ParserManager.get_parser("plain", None, enable_auto_tools=True)(tokenizer, request.tools)


def streamed(parser: Any, request: Any, text: str) -> tuple[str, list[tuple[int, str, str]]]:
    said, calls = "", []
    for position, letter in enumerate(text):
        delta = parser.parse_delta(letter, [1], request, [1], finished=position == len(text) - 1)
        if delta is not None:
            said += delta.content or ""
            calls += [(call.index, call.function.name, call.function.arguments) for call in delta.tool_calls]
    return said, calls


@pytest.mark.parametrize("make", [chat, responses])
def test_calls_are_read_whole_and_streamed(tokenizer: Any, make: Any) -> None:
    request = make("auto")
    _, content, calls = parser(tokenizer, request).parse(SAID, request, enable_auto_tools=True)
    assert content == "I look." and [(call.name, call.arguments) for call in calls] == [
        ("look", '{"at": 1}'),
        ("wait", "{}"),
    ]
    assert streamed(parser(tokenizer, request), request, SAID) == (
        content,
        [(0, "look", '{"at": 1}'), (1, "wait", "{}")],
    )


@pytest.mark.parametrize("text", ["No call.\n\nAt all", "look\n", "wait"])
def test_words_stay_words(tokenizer: Any, text: str) -> None:
    request = chat("auto")
    assert streamed(parser(tokenizer, request), request, text) == (text, [])


def test_what_is_no_call_where_none_is_wanted(tokenizer: Any) -> None:
    for request in (chat("none"), chat("none", tools=())):
        _, content, calls = parser(tokenizer, request).parse(SAID, request, enable_auto_tools=True)
        assert content == SAID and not calls
        assert streamed(parser(tokenizer, request), request, SAID) == (SAID, [])


@pytest.mark.parametrize(
    ("request_of", "names"),
    [
        (lambda: chat("required"), ["look", "wait"]),
        (lambda: chat({"type": "function", "function": {"name": "wait"}}), ["wait"]),
        (lambda: responses("required"), ["look", "wait"]),
        (lambda: responses({"type": "function", "name": "wait"}), ["wait"]),
    ],
)
def test_a_forced_call_is_held_to_the_grammar_of_its_tools(tokenizer: Any, request_of: Any, names: list[str]) -> None:
    request = request_of()
    tag = json.loads(parser(tokenizer, request).adjust_request(request).structured_outputs.structural_tag)
    assert [one["begin"] for one in tag["format"]["tags"]] == [f"{name} " for name in names]
    free = chat("auto")
    assert parser(tokenizer, free).adjust_request(free).structured_outputs is None
