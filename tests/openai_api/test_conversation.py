"""Checks that conversations begun elsewhere are continued."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playing import Alone, Game, ScriptModel, Talk, calls, play_script, with_tokens

from ray_gym import Environment, Episode, Message, Opening, Participant, Task, tool
from ray_gym.config.sections import TasksSection
from ray_gym.data.tasks import read_tasks
from ray_gym.errors import UserError
from ray_gym.openai_api.conversation import answered_calls, json_object, user_view
from ray_gym.record.rows import row_of

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"x": 1}'}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Find x."},
    {"role": "assistant", "content": None, "reasoning_content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "x is 1"},
    {"role": "assistant", "content": "It is 1."},
    {"role": "user", "content": "And y?"},
]
ITEMS: list[dict[str, Any]] = [
    {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Find x."}]},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "I look."}], "encrypted_content": "?"},
    {"type": "function_call", "id": "f", "call_id": "c1", "name": "find", "arguments": '{"x": 1}', "status": "completed"},
    {"type": "function_call_output", "call_id": "c1", "output": "x is 1"},
    {"type": "message", "role": "assistant", "id": "m",
     "content": [{"type": "output_text", "text": "It is 1.", "annotations": []}]},
    {"role": "user", "content": "And y?"},
]  # fmt: skip


USER = {"role": "user", "content": "Hi"}


def task_of(messages: Any, **fields: Any) -> Task:
    return Task.model_validate({"messages": messages, **fields})


def call_item(name: str, call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}


def output_item(call_id: str, output: Any = "ok") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def shape(messages: Any) -> list[tuple[Any, ...]]:
    """Returns each message's role and content, and the ids of the calls that it makes."""
    return [
        (one.role, one.content, *([[call.id for call in one.tool_calls]] if one.tool_calls else ()))
        for one in task_of(messages).messages
    ]


# ---- going on with one ----


class Desk(Talk):
    """A row's own conversation replaces what the opening tells the policy, and keeps what it tells the user."""

    def opening(self, task: Task, state: Any) -> Opening:
        system = {"policy": "opening's prompt", "user": "You are the user."}
        return Opening(messages={"policy": "opening", "user": "You want y."}, system=system, first="user")


async def test_the_policy_goes_on_from_what_was_said() -> None:
    game = await play_script(
        Desk(), [with_tokens("y is 2.", [1, 2, 3], [4, 5])], ["Bye."], task=task_of(CHAT), limits={"max_turns": 1}
    )
    assert game.models["policy"].seen(0) == [
        ("system", "Be brief."),
        ("user", "Find x."),
        ("assistant", ""),
        ("tool", "x is 1"),
        ("assistant", "It is 1."),
        ("user", "And y?"),
    ]
    request = game.models["policy"].requests[0]
    assert request.messages[2].tool_calls[0].name == "find" and request.messages[2].reasoning == "I look."
    assert (request.known, len(request.history)) == (0, 0), "all of it is prompt"
    assert game.models["user"].seen(0) == [
        ("system", "You are the user."),
        ("user", "You want y."),
        ("assistant", "Find x."),
        ("user", "It is 1."),
        ("assistant", "And y?"),
        ("user", "y is 2."),
    ]
    assert [turn.speaker for turn in game.episode.turns] == ["policy", "user"]
    assert game.episode.answer == "y is 2." and len(game.episode.messages_of("policy")) == 1


async def test_the_record_has_it_as_opening_and_masks_it() -> None:
    policy = [with_tokens("y is 2.", [1, 2, 3], [4, 5]), with_tokens("Bye.", [6], [7])]
    game = await play_script(Desk(), policy, ["Thanks.", "Bye."], task=task_of(CHAT), limits={"max_turns": 2})
    row = row_of(game.played, "run", "desk")
    opening = [event for event in row["events"] if event["kind"] == "opening" and event["participant"] == "policy"]
    assert [event["role"] for event in opening] == ["user", "assistant", "tool", "assistant", "user"]
    assert opening[1]["tool_calls"] == [{"id": "c1", "name": "find", "arguments": '{"x": 1}'}]
    assert opening[1]["reasoning"] == "I look." and opening[2]["tool_call_id"] == "c1"
    assert all(event["turn"] == -1 and event["visible_to"] == ["policy"] for event in opening)
    [sample] = [sample for sample in row["samples"] if sample["participant"] == "policy"]
    assert sample["token_ids"] == [1, 2, 3, 4, 5, 6, 7] and sample["loss_mask"] == [0, 0, 0, 1, 1, 0, 1]
    assert np.flatnonzero(sample["logprobs"]).tolist() == [3, 4, 6]
    generated = {span["event_seq"] for span in sample["spans"] if span["generated"]}
    assert not generated & {event["seq"] for event in opening}
    assert row["turns"] == 2


async def test_who_did_not_speak_last_speaks_next() -> None:
    asked = await play_script(Desk(), ["B"], ["C"], task=task_of([USER]), limits={"max_turns": 1})
    assert [turn.speaker for turn in asked.episode.turns] == ["policy", "user"]
    after_tool = await play_script(Desk(), ["B"], ["C"], task=task_of(CHAT[:4]), limits={"max_turns": 1})
    assert [turn.speaker for turn in after_tool.episode.turns] == ["policy", "user"]
    answered = await play_script(Desk(), ["B"], ["C", "D"], task=task_of(CHAT[:5]), limits={"max_turns": 1})
    assert [turn.speaker for turn in answered.episode.turns][:2] == ["user", "policy"]
    assert answered.models["user"].seen(0)[-1] == ("user", "It is 1.")
    greeted = await play_script(
        Desk(), ["B"], ["C"], task=task_of([{"role": "assistant", "content": "Welcome!"}]), limits={"max_turns": 1}
    )
    assert greeted.models["user"].seen(0)[1:] == [("user", "You want y."), ("user", "Welcome!")]
    assert greeted.models["policy"].seen(0)[1:] == [("assistant", "Welcome!"), ("user", "C")]


async def test_a_row_that_only_has_a_system_message_leaves_the_opening() -> None:
    game = await play_script(Alone(), ["42"], task=task_of(CHAT[:1]))
    assert game.models["policy"].seen() == [("system", "Be brief."), ("user", "What is 6 times 7?")]


def test_what_was_said_beside_calls_was_heard_with_the_rest_of_the_turn() -> None:
    said = {"role": "assistant", "content": "I look.", "tool_calls": [CALL]}
    heard = user_view(task_of([CHAT[1], said, CHAT[3], CHAT[4]]).messages)
    assert heard == [Message("assistant", "Find x."), Message("user", "I look.\nIt is 1.")]


class Shelf(Talk):
    @tool()
    def find(self, state: Any, caller: Participant) -> str:
        return "x is 1"


async def test_in_an_episode_it_is_heard_in_the_same_way() -> None:
    game = await play_script(Shelf(), [calls("find", "I look."), "It is 1."], ["Thanks."], limits={"max_turns": 1})
    assert game.models["user"].seen() == [("user", "I look.\nIt is 1.")]


class Three(Talk):
    participants = ("policy", "user", "guest")

    def opening(self, task: Task, state: Any) -> Opening:
        return Opening(messages={"policy": "opening", "guest": "You sit in the corner."})

    async def run(self, episode: Episode) -> None:
        await episode.turn("policy")
        await episode.turn("user")


async def test_with_more_than_two_only_the_policys_view_is_known() -> None:
    game = await play_script(Three(), ["B"], ["C"], task=task_of([USER]))
    assert game.models["policy"].seen(0) == [("user", "Hi")]
    assert game.models["user"].seen(0) == [("user", "B")]
    guest = [event.content for event in game.episode.events if event.kind == "opening" and event.participant == "guest"]
    assert guest == ["You sit in the corner."]


@pytest.mark.parametrize(
    ("fields", "config", "expected"),
    [
        ({"system_prompts": {"policy": "task's"}}, "config's", "task's"),
        ({}, "config's", "Be brief."),
        ({"messages": CHAT[1:]}, "config's", "config's"),
        ({"messages": CHAT[1:]}, None, "opening's prompt"),
    ],
)
async def test_the_nearest_system_prompt_wins(fields: Any, config: str | None, expected: str) -> None:
    task = Task.model_validate({"messages": CHAT, **fields})
    game = await play_script(Desk(), ["B"], ["C"], task=task, limits={"max_turns": 1}, policy={"system_prompt": config})
    prompts = [message.content for message in game.models["policy"].requests[0].messages if message.role == "system"]
    assert prompts == [expected]
    assert game.models["user"].seen(0)[0] == ("system", "You are the user."), "the row's is the policy's alone"


async def test_several_system_messages_are_one_prompt() -> None:
    game = await play_script(
        Alone(), ["B"], task=task_of([CHAT[0], {"role": "developer", "content": "In verse."}, USER])
    )
    assert game.models["policy"].seen() == [("system", "Be brief.\n\nIn verse."), ("user", "Hi")]


def read(folder: Path, environment: Environment[Any, Any], *rows: Any) -> list[Any]:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_tasks(TasksSection(path="rows.jsonl"), environment, 0, folder)


def test_the_policy_cannot_answer_itself(tmp_path: Path) -> None:
    rows: list[Any] = [{"messages": CHAT}, {"messages": CHAT[:5]}]
    with pytest.raises(UserError) as caught:
        read(tmp_path, Alone(), *rows)
    assert str(caught.value) == (
        f"{tmp_path}/rows.jsonl:2: messages: the policy spoke last, and there is nobody else who could answer it"
    )
    assert len(read(tmp_path, Talk(), *rows)) == 2
    with pytest.raises(UserError) as caught:
        read(tmp_path, Talk(), {"messages": [USER, {"role": "assistent", "content": "x"}]})
    assert str(caught.value).startswith(f"{tmp_path}/rows.jsonl:1: messages: messages[1]: role 'assistent' is none of")


async def test_a_worker_refuses_it_too() -> None:
    game: Game = await play_script(Alone(), [], task=task_of(CHAT[:5]))
    assert game.played.failure is not None and game.played.failure.kind == "data"
    assert isinstance(game.models["policy"], ScriptModel) and game.models["policy"].requests == []


def test_calls_that_were_carried_out() -> None:
    """An id may be used again once its call is answered; an answer that is an error means that nothing was done."""
    items = [
        call_item("find", "a"),
        call_item("buy", "b"),
        output_item("b", "bought"),
        output_item("a", json.dumps({"error": "not there"})),
        call_item("sell", "a"),
        output_item("a", '["error"]'),
    ]
    done = [(one.number, one.call.name, one.answer) for one in answered_calls(task_of(items).messages)]
    assert done == [(1, "buy", "bought"), (4, "sell", '["error"]')]


@pytest.mark.parametrize(
    ("answer", "was_done"),
    [
        ('{"success": true, "error": null}', True),
        ('{"success": true, "error": ""}', True),
        ('{"error": false}', True),
        ('{"error": {}, "result": 1}', True),
        ('{"error": {"code": 1}}', False),
        ('{"error": true}', False),
    ],
)
def test_an_error_that_is_none_was_no_error(answer: str, was_done: bool) -> None:
    items = [call_item("find", "a"), output_item("a", answer)]
    assert bool(list(answered_calls(task_of(items).messages))) == was_done


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "[" * 100_000])
def test_what_is_no_object_is_an_empty_one(text: str) -> None:
    assert json_object(text) == {} and json_object('{"x": [1]}') == {"x": [1]}


@pytest.mark.parametrize(
    "said",
    [
        {"content": "<think>secret plan ###STOP###</think>Hello"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "secret plan ###STOP###"}]}, "Hello"]},
        {"content": [{"type": "reasoning_text", "text": "secret plan ###STOP###"}, {"text": "Hello"}]},
        {"content": "Hello <think>secret plan ###STOP###"},
    ],
)
async def test_thoughts_of_an_earlier_conversation_are_reasoning_and_not_told(said: dict[str, Any]) -> None:
    task = task_of([USER, {"role": "assistant", **said}, {"role": "user", "content": "No. 5"}])
    assert (task.messages[1].content, task.messages[1].reasoning) == ("Hello", "secret plan ###STOP###")
    told = [message.content for message in user_view(task.messages)]
    assert told == ["Hi", "Hello", "No. 5"]


def test_a_users_text_that_speaks_of_marks_stays_as_it_is() -> None:
    asked = "Think between <think> and </think>, then answer."
    assert [one.content for one in task_of([{"role": "user", "content": asked}]).messages] == [asked]
