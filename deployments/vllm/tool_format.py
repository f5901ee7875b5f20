"""How a model writes tool calls: the grammar that forces one, and the parser that reads them.

Both are vLLM's, but for models without a tool format of their own (`plain_calls`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from deployments.vllm import plain_calls
from ray_gym.errors import UserError
from ray_gym.messages import Message, ToolCall, ToolSchema


class ToolFormat:
    """One parser by its vLLM name (hermes, llama3_json, ...), over one tokenizer."""

    def __init__(self, tool_parser: str | None, reasoning_parser: str | None, tokenizer: Any) -> None:
        """Errors: UserError for names that vLLM does not know."""
        from vllm.reasoning import ReasoningParserManager
        from vllm.tool_parsers import ToolParserManager

        self._tokenizer = tokenizer
        self._plain = tool_parser == plain_calls.NAME
        vllm_name = None if self._plain else tool_parser
        self._tool_parser = _look_up("tool_parser", vllm_name, ToolParserManager.get_tool_parser)
        self._reasoning_parser = _look_up(
            "reasoning_parser", reasoning_parser, ReasoningParserManager.get_reasoning_parser
        )
        self.grammar = lru_cache(maxsize=4096)(self._grammar)

    @property
    def reads_calls(self) -> bool:
        return self._plain or self._tool_parser is not None

    def _grammar(self, tools_json: str, parallel: bool) -> tuple[str, str]:
        """What forces a well-formed call of one of the tools: (kind of vLLM's structured outputs, its text)."""
        from vllm.tool_parsers.utils import get_json_schema_from_tools

        tools = json.loads(tools_json)
        if self._plain:
            return "structural_tag", json.dumps(_compact(plain_calls.structural_tag(tools, parallel), parallel))
        for tool in tools:
            tool["function"]["strict"] = True
        request = _chat_request(tools, parallel)
        if self._tool_parser is not None:
            tag = self._tool_parser(self._tokenizer, request.tools).get_structural_tag(request)
            if tag is not None:
                return "structural_tag", json.dumps(_compact(tag.model_dump(), parallel))
        schema = get_json_schema_from_tools(tool_choice="required", tools=request.tools, parallel_tool_calls=parallel)
        return "json", schema if isinstance(schema, str) else json.dumps(schema)

    def parse(self, text: str, tools: Sequence[ToolSchema], forced: tuple[str, str] | None, id_seed: int) -> Message:
        """The message that a generated text says. Calls that can't be read become calls that can only be refused."""
        reasoning = None
        request = _chat_request([tool.as_openai() for tool in tools], True)
        if self._reasoning_parser is not None:
            reasoning, rest = self._reasoning_parser(self._tokenizer).extract_reasoning(text, request)
            text = rest or ""
        if not tools:
            return Message("assistant", text, reasoning)
        if forced is not None and forced[0] == "json":
            content, calls = _read_json_calls(text)
        else:
            content, calls = self._read_calls(text, request)
        made = tuple(ToolCall(f"call_{id_seed:016x}_{n}", name, arguments) for n, (name, arguments) in enumerate(calls))
        return Message("assistant", content, reasoning, made)

    def _read_calls(self, text: str, request: Any) -> tuple[str, list[tuple[str, str]]]:
        if self._plain:
            return plain_calls.read(text)
        if self._tool_parser is None:
            return text, []
        parser = self._tool_parser(self._tokenizer, request.tools)
        found = parser.extract_tool_calls(text, request)
        if found.tools_called:
            calls = [(call.function.name, call.function.arguments) for call in found.tool_calls]
            return (found.content or "").strip(), calls
        start = getattr(parser, "tool_call_start_token", None)
        if start and start in text:  # it began a call that the parser could not read
            content, _, attempt = text.partition(start)
            return content.strip(), [("", attempt)]
        return text, []


def tools_key(tools: Sequence[ToolSchema]) -> str:
    """Tools as text, to cache their grammar by."""
    return json.dumps([tool.as_openai() for tool in tools])


def _chat_request(tools: list[dict[str, Any]], parallel: bool) -> Any:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    choice = "required" if tools else "none"
    messages = [{"role": "user", "content": ""}]
    return ChatCompletionRequest(
        messages=messages, tools=tools or None, tool_choice=choice, parallel_tool_calls=parallel
    )


def _look_up(field: str, name: str | None, find: Any) -> Any:
    if name is None:
        return None
    try:
        return find(name)
    except KeyError as error:
        raise UserError(f"{field}: vLLM knows no {name!r}: {error.args[0]}") from None


def _compact(node: Any, parallel: bool) -> Any:
    """A structural tag with at most one space between the parts of its JSON (small models lose themselves in more)."""
    if isinstance(node, list):
        return [_compact(item, parallel) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "json_schema" and node.get("style", "json") == "json":
        return {**node, "max_whitespace_cnt": 1}
    made = {key: _compact(value, parallel) for key, value in node.items()}
    if node.get("type") in ("tags_with_separator", "triggered_tags"):
        made["tags"] = _without_spaced_variants(made["tags"])
        if not parallel:
            made["stop_after_first"] = True
    return made


def _without_spaced_variants(tags: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of tags that differ in whitespace only, the shortest: every forced token costs as much as a chosen one."""
    shortest: dict[str, dict[str, Any]] = {}
    for tag in sorted(tags, key=lambda tag: len(tag["begin"] + tag["end"])):
        shortest.setdefault("".join(f"{tag['begin']}|{tag['end']}".split()), tag)
    return list(shortest.values())


def _read_json_calls(text: str) -> tuple[str, list[tuple[str, str]]]:
    """vLLM's shape for forced calls of models without a tag of their own: [{"name": ..., "parameters": {...}}]."""
    try:
        return "", [(call["name"], json.dumps(call["parameters"])) for call in json.loads(text)]
    except (ValueError, TypeError, KeyError):
        return "", [("", text)]
