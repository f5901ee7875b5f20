"""Renders conversations with calls in them, where the model is offered no tools.

They are an earlier part of a task's row, or what a reward model is asked.
"""

from __future__ import annotations

import pytest
from families import FAMILY_NAMES
from talk import formats

from ray_gym.deployments.chat.chat_format import ChatFormat
from ray_gym.errors import UserError
from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import NO_TOKENS

LOOKUP = ToolSchema("lookup", "Look it up.", {"type": "object", "properties": {"city": {"type": "string"}}})
SHOW_NO_CALLS = {"llama3", "deepseek_r1", "gemma3"}
ALTERNATING = {"gemma3"}
"""Families whose templates refuse two messages of one side in a row, of the assistant too."""


def tool_turn(call_id: str) -> list[Message]:
    call = ToolCall(call_id, "lookup", '{"city": "Rome"}')
    return [
        Message("system", "Be brief."),
        Message("user", "How warm is it?"),
        Message("assistant", tool_calls=(call,)),
        Message("tool", "21 degrees", tool_call_id=call_id),
        Message("assistant", "It is warm."),
        Message("user", "Sure?"),
    ]


def prompt(chat: ChatFormat, messages: list[Message], tools: tuple[ToolSchema, ...] = ()) -> str:
    text: str = chat._tokenizer.decode(chat.prompt(messages, tools, 0, NO_TOKENS).new_ids.tolist())
    return text


@pytest.mark.models
@pytest.mark.parametrize("call_id", ["c1", "call_8f2e-of-another-model", "abcdefgh1"])
@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_calls_are_shown_or_refused_but_never_dropped(name: str, call_id: str) -> None:
    chat, messages = formats(name).chat, tool_turn(call_id)
    if name in SHOW_NO_CALLS:
        for ask in (lambda: prompt(chat, messages), lambda: chat.encode_conversation(messages[:5])):
            with pytest.raises(UserError, match=r"does not show tool calls.* set chat_template"):
                ask()
        return
    whole = chat._tokenizer.decode(chat.encode_conversation(messages[:5]))
    for shown in (prompt(chat, messages), prompt(chat, messages[:4]), whole):
        assert "Rome" in shown and "21 degrees" in shown
    if formats(name).takes_tools:
        assert "Rome" in prompt(chat, messages, (LOOKUP,))


@pytest.mark.models
@pytest.mark.parametrize("name", ["mistral", "mistral_v3"])
def test_ids_of_another_form_are_rewritten_and_still_belong_together(name: str) -> None:
    template = formats(name).chat.template
    called, result = (template.data(message) for message in tool_turn("c1")[2:4])
    assert called["tool_calls"][0]["id"] == result["tool_call_id"] != "c1"
    other = template.data(tool_turn("c2")[3])
    assert other["tool_call_id"] != result["tool_call_id"]
    kept = template.data(tool_turn("abcdefgh1")[3])
    assert kept["tool_call_id"] == "abcdefgh1", "what the model wrote itself stays"
    free = formats("qwen3").chat.template
    assert free.data(tool_turn("c1")[3])["tool_call_id"] == "c1", "where any id is taken, it stays"


@pytest.mark.models
@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_two_messages_of_one_side_in_a_row(name: str) -> None:
    """A simulated user sees such a conversation when the policy called tools between two of its lines."""
    said = [Message("user", "Hi."), Message("assistant", "Hello?"), Message("assistant", "Are you there?")]
    shown = prompt(formats(name).chat, [Message("system", "Be brief."), *said, Message("user", "Yes.")])
    assert "Hello?" in shown and "Are you there?" in shown
    if name in ALTERNATING:
        assert "Hello?\n\nAre you there?" in shown


@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_two_system_prompts(name: str) -> None:
    """A judge with a prompt of its own sees a conversation that has one too."""
    shown = prompt(formats(name).chat, [Message("system", "Judge."), *tool_turn("c1")[:2]])
    assert "Judge." in shown and "Be brief." in shown
