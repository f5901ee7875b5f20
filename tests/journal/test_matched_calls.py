"""Checks which thread a black-box agent's call continues, however the agent writes the earlier messages."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from captured_agent import HELLO, SYSTEM, Aloud, Mute, Strict, Twice, cuts, echoed, opened, user
from msgspec.structs import replace

from ray_gym import Message, ToolCall
from ray_gym.openai_api.response_ids import ResponseId
from ray_gym.play.agent_call import UnknownAnswer
from ray_gym.play.capture import canonical_form
from ray_gym.play.commands import End, Say


async def test_an_edited_history_forks(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    first = await agent.say(SYSTEM, HELLO)
    await agent.say(SYSTEM, HELLO, echoed(first), user("more"))
    await agent.say(SYSTEM, HELLO, echoed(first), user("less"))
    await agent.say(SYSTEM, HELLO, Message("assistant", "What I never said"), user("less"))
    await agent.say(SYSTEM, user("Summary: nothing yet"))
    await agent.say(SYSTEM, HELLO, echoed(first), user("more"), tools=())
    await agent.session.perform("end", End())
    assert agent.samples == [
        ("policy", None, 2), ("policy/1", "edited_history", 1), ("policy/2", None, 1), ("policy/3", None, 1),
        ("policy/4", "tools_changed", 1),
    ]  # fmt: skip


async def test_the_calls_of_one_answer_may_be_told_each_with_its_result(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Twice())
    first = await agent.say(SYSTEM, HELLO)
    one, other = (
        replace(first, content=text, tool_calls=(call,))
        for text, call in zip((first.content, ""), first.tool_calls, strict=True)
    )
    results = [Message("tool", text, tool_call_id=call.id) for text, call in zip("ab", first.tool_calls, strict=True)]
    past = (SYSTEM, HELLO, one, results[0], other, results[1])
    second = await agent.say(*past)
    assert [message.content for message in agent.session.episode.threads["policy"].messages[3:5]] == ["a", "b"]
    await agent.say(*past, echoed(second), user("on"))
    await agent.say(SYSTEM, HELLO, other, results[1], one, results[0])
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 3), ("policy/1", None, 1)]


async def test_results_answer_the_threads_calls_whatever_ids_an_agent_gives_them(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Twice())
    answer = echoed(await agent.say(SYSTEM, HELLO))
    own = tuple(replace(call, id=f"mine{number}") for number, call in enumerate(answer.tool_calls))
    past = [SYSTEM, HELLO, replace(answer, tool_calls=own)]
    past += [Message("tool", text, tool_call_id=f"mine{number}") for text, number in (("b", 1), ("a", 0))]
    past += [echoed(await agent.say(*past)), user("on")]
    await agent.say(*past)
    kept = agent.session.episode.threads["policy"].messages
    [(one, other)] = [message.tool_calls for message in kept if message.tool_calls]
    answered = [(message.content, message.tool_call_id) for message in kept if message.role == "tool"]
    assert answered == [("b", other.id), ("a", one.id)] and other.id != "mine1"
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 3)]


async def test_results_answer_a_call_each_if_an_agent_gives_all_calls_one_id(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Twice())
    answer = echoed(await agent.say(SYSTEM, HELLO))
    past = [SYSTEM, HELLO]
    for number, call in enumerate(answer.tool_calls):
        past += [replace(answer, content=answer.content if not number else "", tool_calls=(replace(call, id="take"),))]
        past += [Message("tool", f"{number}", tool_call_id="take")]
    await agent.say(*past)
    kept = agent.session.episode.threads["policy"].messages
    [calls] = [message.tool_calls for message in kept if message.tool_calls]
    answered = [(message.content, message.tool_call_id) for message in kept if message.role == "tool"]
    assert answered == [(f"{number}", call.id) for number, call in enumerate(calls)]


async def test_an_answer_may_be_resumed_by_its_name(tmp_path: Path) -> None:
    agent = await opened(tmp_path)

    async def on(after: str | None, *said: Message, **options: Any) -> str:
        done = await agent.call(*said, after=after, **options)
        assert done.told is not None
        return str(ResponseId(done.told.thread, done.told.length))

    one, other = await asyncio.gather(on(None, SYSTEM, HELLO), on(None, SYSTEM, HELLO, user("too")))
    for _ in range(2):
        one, other = await asyncio.gather(on(one, user("buy")), on(other, user("more")))
        [call] = agent.session.episode.threads["policy"].messages[-1].tool_calls
        one = await on(one, Message("tool", "a pen", tool_call_id=call.id))
    await on(str(ResponseId("policy", 3)), user("something else"))
    for wrong in (
        "resp_",
        "resp_1",
        "x",
        str(ResponseId("user", 1)),
        str(ResponseId("policy", 99)),
        str(ResponseId("policy/9", 1)),
    ):
        with pytest.raises(UnknownAnswer):
            await on(wrong, user("more"))
    with pytest.raises(ValueError, match="not open"):
        await on(one, Message("tool", "a pen", tool_call_id="other"))
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 5), ("policy/1", None, 3), ("policy/2", "edited_history", 1)]


async def test_what_the_model_cannot_be_asked_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Strict())
    first = await agent.say(SYSTEM, HELLO)
    refused = await agent.call(SYSTEM, HELLO, echoed(first), SYSTEM)
    assert refused.refused is not None and "system" in refused.refused.message and refused.stop is None
    assert (await agent.call(SYSTEM, user("new"), SYSTEM)).refused is not None
    second = await agent.say(SYSTEM, HELLO, echoed(first), user("on"))
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 2)] and second.content == "re: on"
    again = await opened(tmp_path, cuts(agent.file)[-1], model=Strict())
    await again.session.settle()
    assert again.row == agent.row and again.model.asked == []


async def test_a_system_message_in_the_middle_is_one_of_the_thread(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    first = await agent.say(SYSTEM, HELLO)
    past = (SYSTEM, HELLO, echoed(first), Message("system", "Be quick."), user("on"))
    second = await agent.say(*past)
    await agent.say(*past, echoed(second), user("and on"))
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 3)]


async def test_answers_without_words_may_be_left_out(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Mute())
    await agent.say(SYSTEM, HELLO)
    await agent.say(SYSTEM, HELLO, user("on"))
    await agent.say(SYSTEM, HELLO, Message("assistant", "<think>I did not speak</think>"), user("on"), user("and on"))
    await agent.say(SYSTEM, HELLO)
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 3), ("policy/1", None, 1)]


async def test_the_thought_may_be_taken_out_of_what_is_said(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Aloud())
    first = await agent.say(SYSTEM, HELLO)
    await agent.session.perform("s", Say("policy", "Yes"))
    await agent.say(SYSTEM, HELLO, first, *agent.session.episode.threads["policy"].messages[-1:])
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 2)]


def test_thoughts_and_the_form_of_arguments_make_no_difference() -> None:
    thought = Message("assistant", "<think>hm</think>\nYes", "deep", (ToolCall("1", "f", '{"b":1,"a":[2]}'),))
    plain = Message("assistant", "Yes", None, (ToolCall("9", "f", '{ "a": [2], "b": 1 }'),))
    assert canonical_form(thought) == canonical_form(plain)
    assert canonical_form(Message("assistant", "\u200b")) == canonical_form(Message("assistant", " "))
    assert canonical_form(plain) != canonical_form(replace(plain, tool_calls=(ToolCall("9", "f", '{"a": [3]}'),)))
    assert canonical_form(replace(plain, tool_calls=(ToolCall("9", "f", "not json "),)))[2] == (("f", "not json"),)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": 2}', '{"b":2,"a":1}', True),
        ("{", '{"arguments": "{"}', True),
        (" { ", '{"arguments": " { "}', True),
        ("[1, 2]", '{"arguments": "[1,2]"}', True),
        ("", "{}", True),
        ('{"a": NaN}', '{"arguments": "{\\"a\\": NaN}"}', True),
        ('{"a": 1}', '{"arguments": "{\\"a\\": 1}"}', False),
        ('{"arguments": 3}', "3", False),
        (r'{"a\ud83d": "x\ud83d"}', '{"a?": "x?"}', True),
        (r'{"input": "x\ud83d"}', '{"input": "x?"}', True),
        (r'"x\ud83d"', r'{"arguments": "\"x\\ud83d\""}', True),
        ('{"a": 1.0, "b": 20}', '{"a": 1, "b": 2e1}', True),
        ('{"a": 1}', '{"a": true}', False),
        ('{"a": 123456789012345678901234567890}', '{"arguments": "{\\"a\\": 123456789012345678901234567890}"}', True),
        ('{"a": ' * 70 + "1" + "}" * 70, json.dumps({"arguments": '{"a": ' * 70 + "1" + "}" * 70}), True),
    ],
)
def test_arguments_are_the_same_however_they_are_written(one: str, other: str, same: bool) -> None:
    forms = [canonical_form(Message("assistant", tool_calls=(ToolCall("c", "f", text),))) for text in (one, other)]
    assert (forms[0] == forms[1]) is same
