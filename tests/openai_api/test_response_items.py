"""Checks items of the Responses API: they are spelled as there, and read back as the same conversation."""

from __future__ import annotations

from typing import Any

from playing import Alone, Game, calls, play_script, with_tokens

from ray_gym import Episode, Message, Participant, ToolCall, tool
from ray_gym.models.base import Completion
from ray_gym.openai_api.conversation import read_conversation
from ray_gym.openai_api.items import event_of, response_items, why_incomplete
from ray_gym.record.rows import row_of


class Sums(Alone):
    async def run(self, episode: Episode) -> None:
        await episode.turn("policy")
        episode.tell("policy", "And 8 times 9?")
        await episode.turn("policy")

    @tool()
    def times(self, state: Any, caller: Participant, first: int, second: int) -> int:
        return first * second


TWO_CALLS = Message(
    "assistant",
    "Let me see.",
    "I could use a tool.",
    (ToolCall("a", "times", '{"first": 6, "second": 7}'), ToolCall("b", "times", "{}")),
)


async def game() -> Game:
    return await play_script(Sums(), [TWO_CALLS, "42.", calls("times", first=8, second=9), "72."])


async def test_items_are_in_order_and_begin_after_the_opening() -> None:
    items = response_items((await game()).episode.events)
    assert [(item["type"], item.get("role")) for item in items] == [
        ("reasoning", None),
        ("message", "assistant"),
        ("function_call", None),
        ("function_call", None),
        ("function_call_output", None),
        ("function_call_output", None),
        ("message", "assistant"),
        ("message", "user"),
        ("function_call", None),  # without text there is no message
        ("function_call_output", None),
        ("message", "assistant"),
    ]
    assert items[0]["summary"] == [{"type": "summary_text", "text": "I could use a tool."}]
    assert items[1]["content"] == [{"type": "output_text", "text": "Let me see.", "annotations": []}]
    assert items[2] | {"id": ""} == {
        "type": "function_call",
        "id": "",
        "call_id": "a",
        "name": "times",
        "arguments": '{"first": 6, "second": 7}',
        "status": "completed",
    }
    assert items[4] == {"type": "function_call_output", "call_id": "a", "output": "42"}
    assert "bad arguments" in items[5]["output"] and items[5]["call_id"] == "b"
    ids = [item["id"] for item in items if "id" in item]
    assert len(ids) == len(set(ids)) == 7


async def test_they_read_back_as_what_was_said() -> None:
    episode = (await game()).episode
    said = [message for message in episode.threads["policy"].messages if message.role != "system"][1:]
    read = [
        (one["role"], one["content"], one.get("reasoning")) for one in read_conversation(response_items(episode.events))
    ]
    assert read == [(message.role, message.content, message.reasoning) for message in said]
    called = [one["tool_calls"] for one in read_conversation(response_items(episode.events)) if one.get("tool_calls")]
    assert [[call["id"] for call in calls] for calls in called] == [["a", "b"], ["call_times"]]


async def test_a_records_row_gives_the_same_items() -> None:
    played = (await game()).played
    events = [event_of(row) for row in row_of(played, "run", "sums")["events"]]
    assert response_items(events) == response_items(played.episode.events)


async def test_a_message_that_was_cut_says_so_and_an_empty_one_is_there() -> None:
    cut = (await play_script(Alone(), [with_tokens("It is for", [1], [2, 3], finish_reason="length")])).episode
    assert why_incomplete(cut.events) == "max_output_tokens" and response_items(cut.events)[0]["status"] == "incomplete"
    withheld = (await play_script(Alone(), [Completion(Message("assistant", "It"), "content_filter")])).episode
    assert why_incomplete(withheld.events) == "content_filter"
    assert response_items(withheld.events)[0]["status"] == "incomplete"
    empty = (await play_script(Alone(), [""])).episode
    assert why_incomplete(empty.events) is None and response_items(empty.events)[0]["content"][0]["text"] == ""
    assert why_incomplete([]) is None and response_items([]) == []


async def test_only_the_threads_own_items_are_given() -> None:
    episode = (await game()).episode
    assert response_items(episode.events, thread="user") == []
