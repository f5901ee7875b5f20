"""Checks that an agent may mix chat completions, Responses and messages in one session: the conversation is the same one,
and its tokens are.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from session_door import PATH, SESSION, Door, opened

from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.messages import Message, ToolCall, arguments_object
from ray_gym.models.base import CompletionRequest
from ray_gym.record.soundness import sample_problems

JSON = {"Content-Type": "application/json"}
SYSTEM, ASKED = "You are a customer.", "What would you like, a pen or a book?"
SCHEMA: Any = {"type": "object", "properties": {"item": {"type": "string"}}}
DESCRIBED: Any = {"name": "take", "description": "Take something.", "parameters": SCHEMA}


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with opened(tmp_path) as door:
        yield door


class Agent:
    """Remembers a conversation in a plain form, and says it in any dialect."""

    def __init__(self, door: Door) -> None:
        self.chats, self.messages_api = door.openai(), door.anthropic()
        self.said: list[tuple[str, Any]] = [("user", ASKED)]

    async def ask(self, dialect: str, text: str | None = None, streamed: bool = False) -> None:
        if text is not None:
            self.said.append(("user", text))
        self.said.append(("assistant", await getattr(self, dialect)(streamed)))
        for call, _ in self.said[-1][1][1]:
            self.said.append(("tool", (call, f"one {call}")))

    async def chat(self, streamed: bool) -> tuple[str, list[tuple[str, Any]]]:
        messages: list[Any] = [{"role": "system", "content": SYSTEM}]
        for role, held in self.said:
            message: dict[str, Any] = {"role": role, "content": held}
            if role == "assistant":
                calls = [
                    {"id": id, "type": "function", "function": {"name": "take", "arguments": text}}
                    for id, text in held[1]
                ]
                message = {"role": role, "content": held[0], **({"tool_calls": calls} if calls else {})}
            elif role == "tool":
                message = {"role": role, "content": held[1], "tool_call_id": held[0]}
            messages.append(message)
        tools: Any = [{"type": "function", "function": DESCRIBED}]
        answer = await self.chats.chat.completions.create(model="policy", messages=messages, tools=tools)
        found: Any = answer.choices[0].message
        return found.content or "", [(call.id, call.function.arguments) for call in found.tool_calls or ()]

    async def responses(self, streamed: bool) -> tuple[str, list[tuple[str, Any]]]:
        items: list[Any] = []
        for role, held in self.said:
            if role == "user":
                items.append({"role": "user", "content": held})
            elif role == "tool":
                items.append({"type": "function_call_output", "call_id": held[0], "output": held[1]})
            else:
                items += [{"role": "assistant", "content": held[0]}] if held[0] else []
                items += [
                    {"type": "function_call", "call_id": id, "name": "take", "arguments": text} for id, text in held[1]
                ]
        tools: Any = [{"type": "function", **DESCRIBED, "strict": False}]
        answer = await self.chats.responses.create(model="policy", instructions=SYSTEM, input=items, tools=tools)
        calls = [(item.call_id, item.arguments) for item in answer.output if item.type == "function_call"]
        return answer.output_text, calls

    async def message(self, streamed: bool) -> tuple[str, list[tuple[str, Any]]]:
        messages: list[Any] = []
        for role, held in self.said:
            if role == "tool":
                block = {"type": "tool_result", "tool_use_id": held[0], "content": held[1]}
                if messages[-1]["role"] == "user":
                    messages[-1]["content"].append(block)
                else:
                    messages.append({"role": "user", "content": [block]})
            elif role == "user":
                messages.append({"role": "user", "content": [{"type": "text", "text": held}]})
            else:
                blocks: list[Any] = [{"type": "text", "text": held[0]}] if held[0] else []
                blocks += [
                    {"type": "tool_use", "id": id, "name": "take", "input": arguments_object(text)}
                    for id, text in held[1]
                ]
                messages.append({"role": "assistant", "content": blocks})
        tools: Any = [{"name": "take", "description": DESCRIBED["description"], "input_schema": SCHEMA}]
        asked: Any = {"model": "policy", "max_tokens": 512, "system": SYSTEM, "messages": messages, "tools": tools}
        if streamed:
            async with self.messages_api.messages.stream(**asked) as stream:
                answer = await stream.get_final_message()
        else:
            answer = await self.messages_api.messages.create(**asked)
        text = "".join(block.text for block in answer.content if block.type == "text")
        return text, [(block.id, json.dumps(block.input)) for block in answer.content if block.type == "tool_use"]


HALF = r'{"item": "x\ud83d", "count": 1}'
"""Arguments with half a surrogate pair, as a model may escape it."""


def halves(request: CompletionRequest) -> Message:
    return Message("assistant", tool_calls=(ToolCall(f"call_{len(request.messages)}", "take", HALF),))


@pytest.mark.parametrize("dialect", ["chat", "responses", "message"])
async def test_half_a_surrogate_goes_there_and_back(tmp_path: Path, dialect: str) -> None:
    async with opened(tmp_path, ScriptedModel(halves, {}, 0)) as door:
        agent = Agent(door)
        await agent.ask(dialect)
        [(id, arguments)] = agent.said[1][1][1]
        called = {"name": "take", "arguments": json.loads(arguments)}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
        async with door.web(door.key) as web:
            told = (await web.post(PATH, content=json.dumps(asked), headers=JSON)).json()["result"]
        assert told["isError"] and [event.tool_calls[0].id for event in door.session.episode.events[-2:-1]] == [id]
        await agent.ask(dialect)
        assert list(door.session.episode.threads) == ["policy", "user"]


@pytest.mark.parametrize("text", ["null", " null ", ""])
async def test_no_arguments_go_there_and_back_in_all_dialects(tmp_path: Path, text: str) -> None:
    def takes_nothing(request: CompletionRequest) -> Message:
        return Message("assistant", tool_calls=(ToolCall(f"call_{len(request.messages)}", "take", text),))

    async with opened(tmp_path, ScriptedModel(takes_nothing, {}, 0)) as door:
        agent = Agent(door)
        for dialect in ("message", "chat", "message", "responses", "message"):
            await agent.ask(dialect)
        assert list(door.session.episode.threads) == ["policy", "user"]
        assert {arguments for _, (_, calls) in agent.said[1::2] for _, arguments in calls} == {"{}", text}


async def test_an_agent_may_repeat_half_a_surrogate(door: Door) -> None:
    """The clients of other languages can write one, as an escape."""
    body = {"model": "policy", "messages": [{"role": "user", "content": "no x\ud83d"}]}
    async with door.web(door.key) as web:
        path = f"/v1/sessions/{SESSION}/openai/chat/completions"
        answer = await web.post(path, content=json.dumps(body), headers=JSON)
    assert answer.json()["choices"][0]["message"]["content"] == "re: no x?"


async def test_one_conversation_in_three_dialects_is_one_sample(door: Door) -> None:
    agent = Agent(door)
    await agent.ask("message")
    await agent.ask("chat", "one more")
    await agent.ask("message", "buy and buy", streamed=True)
    await agent.ask("responses")
    await agent.ask("chat", "buy")
    await agent.ask("message", streamed=True)
    await agent.ask("responses", "garble")
    await agent.ask("message")
    await agent.ask("message", "garble")
    await agent.ask("chat")
    [sample] = [one for one in (await door.row())["samples"] if one["participant"] == "policy"]
    assert sample["fork_reason"] is None and sample_problems(sample) == []
    assert sum(span["generated"] for span in sample["spans"]) == 10
    ids = np.array(sample["token_ids"])
    assert sample["logprobs"] == pytest.approx(np.array(sample["loss_mask"]) * ids / -1000)
    told = bytes(ids.tolist()).decode()
    assert told.startswith(f"system: {SYSTEM}\nuser: {ASKED}\nassistant: re: {ASKED}\nuser: one more\n")
    assert told.count("tool: one call_") == 5


@pytest.mark.parametrize(
    ("first", "second"),
    [("chat", "message"), ("message", "chat"), ("responses", "message"), ("message", "responses")],
)
async def test_each_dialect_goes_on_where_another_has_called_tools(door: Door, first: str, second: str) -> None:
    agent = Agent(door)
    await agent.ask(first, "buy and buy")
    await agent.ask(second)
    threads = [one["thread"] for one in (await door.row())["samples"] if one["participant"] == "policy"]
    assert threads == ["policy"]


async def test_another_history_forks_a_conversation_in_any_dialect(door: Door) -> None:
    agent = Agent(door)
    await agent.ask("chat")
    agent.said[-1] = ("assistant", ("I said something else", []))
    await agent.ask("message", "and now?")
    found = [(one["thread"], one["fork_reason"]) for one in (await door.row())["samples"]]
    assert found == [("policy", None), ("policy/1", None)]  # no answer is in both, so none is a fork of the other


async def test_what_is_left_out_is_in_the_header_and_once_in_the_record(door: Door) -> None:
    body = {
        "model": "policy",
        "max_tokens": 16,
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        "thinking": {"type": "adaptive"},
    }
    async with door.web(door.key) as web:
        for text in ("Hello", "again"):
            body["messages"] = [{"role": "user", "content": text}]
            answer = await web.post(f"/v1/sessions/{SESSION}/anthropic/v1/messages?beta=true", json=body)
            assert answer.status_code == 200, answer.text
            assert answer.headers["x-left-out"] == "thinking, web_search_20250305"
    notes = [event["content"] for event in (await door.row())["events"] if event["kind"] == "note"]
    assert [note[0]["text"] for note in notes] == ["calls of policy are answered without thinking, web_search_20250305"]


async def test_a_count_of_tokens_is_no_step(door: Door) -> None:
    counted = await door.anthropic().messages.count_tokens(
        model="policy", messages=[{"role": "user", "content": "12345"}]
    )
    assert counted.input_tokens == 5
    assert (await door.row())["samples"] == []


def as_a_coding_agent_sends(messages: list[Any], number: int) -> dict[str, Any]:
    """Returns a body of the shape that Claude Code's have: fields, nesting and enum values; the texts are made up."""
    kept = {"cache_control": {"type": "ephemeral"}}
    billing = {"type": "text", "text": f"x-anthropic-billing-header: cc_version=2.1; cch={number:05x};"}
    prompts = [{"type": "text", "text": text, **kept} for text in ("You are an agent.", "# Rules\n - Be brief.")]
    *before, last = messages
    if isinstance(last["content"], list):  # what is to be cached moves on with the conversation
        last = {**last, "content": [*last["content"][:-1], {**last["content"][-1], **kept}]}
    return {
        "model": "policy",
        "system": [billing, *prompts],
        "messages": [*before, last],
        "tools": [{"name": "take", "description": "Take something.", "input_schema": SCHEMA}],
        "metadata": {"user_id": "user_1_account__session_2"},
        "max_tokens": 32000,
        "thinking": {"type": "adaptive"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        "stream": True,
    }


def read_stream(text: str) -> list[dict[str, Any]]:
    """Returns the blocks of a streamed message, as a client puts them together."""
    blocks: list[dict[str, Any]] = []
    for line in text.splitlines():
        event = json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else {}
        if event.get("type") == "content_block_start":
            blocks.append(event["content_block"])
        elif event.get("type") == "content_block_delta":
            for name, value in event["delta"].items():
                if name == "partial_json":
                    blocks[-1]["input"] = json.loads(value)
                elif name != "type":
                    blocks[-1][name] = value
    return blocks


async def test_the_calls_of_a_coding_agent_are_one_conversation(door: Door) -> None:
    asked = [{"type": "text", "text": "<note>one</note>"}, {"type": "text", "text": "buy"}]
    messages: list[Any] = [{"role": "user", "content": asked}, {"role": "system", "content": "Tools have changed: buy"}]
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "effort-2025-11-24,context-management-2025-06-27"}
    async with door.web(door.key) as web:
        for number in range(4):
            body = as_a_coding_agent_sends(messages, number)
            path = f"/v1/sessions/{SESSION}/anthropic/v1/messages?beta=true"
            answer = await web.post(path, json=body, headers=headers)
            assert answer.status_code == 200, answer.text
            blocks = read_stream(answer.text)
            messages.append({"role": "assistant", "content": [b for b in blocks if b["type"] != "thinking" or number]})
            calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": id, "content": "Exit code 1: buy", "is_error": number > 0}
                for id in calls
            ]
            messages.append({"role": "user", "content": results or [{"type": "text", "text": "buy and go on"}]})
    [sample] = [one for one in (await door.row())["samples"] if one["participant"] == "policy"]
    assert (sample["thread"], sample["fork_reason"]) == ("policy/1", None)  # its words are not the environment's
    assert sum(span["generated"] for span in sample["spans"]) == 4
