"""Checks black-box agents: their calls are steps, may be parallel, and survive the worker's death at any record."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from captured_agent import HELLO, SHELF, SYSTEM, Echo, Shop, cuts, echoed, opened, user

from ray_gym import Message
from ray_gym.journal.history import HistoryReader
from ray_gym.messages import ToolSchema
from ray_gym.play.agent_call import TurnIsOver
from ray_gym.play.commands import CallTool, Close, End, Say
from ray_gym.stop import EpisodeOver


async def test_a_conversation_goes_on_with_the_participants_own_thread(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    first = await agent.say(SYSTEM, HELLO)
    second = await agent.say(SYSTEM, HELLO, echoed(first), user("buy"))
    result = Message("tool", "one pen", tool_call_id="x")
    done = await agent.session.perform("t", CallTool("policy", "x", "take", '{"item": "pen"}'))
    assert [event.kind for event in done.events] == ["tool_call"] and json.loads(done.events[0].content) == {"taken": 1}
    await agent.say(SYSTEM, HELLO, echoed(first), user("buy"), echoed(second), result)
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 3)] and agent.row["reward"] == 1 and agent.row["turns"] == 1
    kinds = [event["kind"] for event in agent.row["events"] if event["thread"] == "policy"]
    assert kinds == ["system", "opening", "message", "relay", "message", "tool_result", "message"]


async def test_calls_side_by_side_open_threads_and_may_end_in_any_order(tmp_path: Path) -> None:
    model = Echo({"slow": asyncio.Event(), "quick": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    first = await agent.say(SYSTEM, HELLO)
    past = (SYSTEM, HELLO, echoed(first))
    slow = asyncio.create_task(agent.say(*past, user("slow")))
    await model.was_asked("slow")
    quick = asyncio.create_task(agent.say(*past, user("quick")))
    await model.was_asked("quick")
    await agent.session.perform("t", CallTool("policy", "x", "take", '{"item": "between"}'))
    model.held["quick"].set()
    answer = await quick
    third = asyncio.create_task(agent.say(*past, user("quick"), echoed(answer), user("on")))
    await third
    model.held["slow"].set()
    await slow
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 2), ("policy/1", "edited_history", 2)]
    for name in cuts(agent.file):
        again = await opened(tmp_path, name)
        recorded = HistoryReader(tmp_path).read("e", [name])
        assert again.session.given == len(recorded.commands)
        await again.session.settle()
        assert again.session.episode.calls.log.diverged is None
        assert len(again.model.asked) <= 4 - len(recorded.calls)
    assert again.row == agent.row and again.model.asked == []


async def test_calls_of_the_same_moment_have_threads_of_their_own(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    first = await agent.say(SYSTEM, HELLO)
    past = (SYSTEM, HELLO, echoed(first))
    one, other, third = await asyncio.gather(*(agent.say(*past, user(text)) for text in ("one", "other", "third")))
    assert [answer.content for answer in (one, other, third)] == ["re: one", "re: other", "re: third"]
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 2), ("policy/1", "branched", 1), ("policy/2", "branched", 1)]


async def test_what_an_agent_says_is_heard_and_answered(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    first = await agent.say(SYSTEM, HELLO)
    done = await agent.session.perform("s", Say("policy", first.content))
    heard = agent.session.episode.threads["policy"].messages[-1]
    assert heard == user(f"re: {first.content}") and done.stop is None
    await agent.say(SYSTEM, HELLO, echoed(first), heard)
    await agent.session.perform("s2", Say("policy", "In other words"))
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 2)] and agent.row["turns"] == 2
    assert [message.content for message in agent.session.episode.threads["user"].messages] == [
        "re: What do you want?", "re: re: What do you want?", "In other words", "re: In other words",
    ]  # fmt: skip


async def test_words_of_another_conversation_are_said_in_the_participants_own(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    await agent.say(SYSTEM, HELLO)
    other = await agent.say(user("Refine it"))
    await agent.session.perform("s", Say("policy", other.content))
    assert agent.session.episode.answer == other.content == "re: Refine it"


async def test_without_an_agents_calls_words_and_tools_are_in_the_participants_thread(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    await agent.session.perform("t", CallTool("policy", "x", "take", '{"item": "pen"}'))
    await agent.session.perform("s", Say("policy", "A pen"))
    await agent.session.perform("end", End())
    kinds = [(event["kind"], event["role"]) for event in agent.row["events"] if event["thread"] == "policy"]
    assert kinds[2:] == [("message", "assistant"), ("tool_result", "tool"), ("message", "assistant")]
    assert agent.session.episode.threads["policy"].messages[-1] == user("re: A pen")
    assert agent.samples == []


async def test_limits_hold(tmp_path: Path) -> None:
    agent = await opened(tmp_path, max_steps_per_turn=1, max_turns=2)
    first = await agent.say(SYSTEM, HELLO)
    with pytest.raises(TurnIsOver):
        await agent.say(SYSTEM, HELLO, echoed(first), user("more"))
    await agent.session.perform("s", Say("policy", first.content))
    await agent.say(SYSTEM, HELLO, echoed(first), user("more"), temperature=0.5)
    await agent.session.perform("s2", Say("policy", "bye"))
    done = await agent.session.perform("t", CallTool("policy", "x", "take", '{"item": "pen"}'))
    assert done.stop is not None and done.stop.reason == "max_turns"
    await agent.session.perform("end", End())
    spans = [s["sampling"]["temperature"] for one in agent.row["samples"] for s in one["spans"] if s["generated"]]
    assert 0.5 in spans and agent.row["reward"] == 0


@pytest.mark.parametrize("last", [End(), Close("enough")])
async def test_the_end_does_not_wait_for_answers(tmp_path: Path, last: End | Close) -> None:
    model = Echo({"slow": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    await agent.say(SYSTEM, HELLO)
    caller = asyncio.create_task(agent.say(SYSTEM, user("slow")))
    await model.was_asked("slow")
    done = await agent.session.perform("last", last)
    with pytest.raises(EpisodeOver):
        await caller
    assert done.stop is not None and agent.row["status"] == ("completed" if isinstance(last, End) else "cancelled")
    again = await opened(tmp_path, cuts(agent.file)[-1], model=Echo({"slow": asyncio.Event()}))
    await again.session.settle()
    assert again.row == agent.row


async def test_the_record_has_the_tools_that_an_agent_showed_on_each_thread(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    first = await agent.say(SYSTEM, HELLO)
    other = ToolSchema("search", "Find something.", {"type": "object", "properties": {}})
    await agent.say(SYSTEM, HELLO, echoed(first), user("more"), tools=(SHELF, other))
    await agent.say(user("a third conversation"), tools=())
    await agent.session.perform("end", End())
    shown = {"policy": [SHELF.as_openai()], "policy/1": [SHELF.as_openai(), other.as_openai()]}
    assert json.loads(agent.row["tools_shown"]) == shown
    again = await opened(tmp_path, cuts(agent.file)[-1])
    await again.session.settle()
    assert again.row == agent.row and again.model.asked == []


async def test_who_is_spoken_for_was_shown_the_tools_that_the_environment_offers(tmp_path: Path) -> None:
    """No model was asked for these words, but a trainer's prompt before them has to show the tools."""
    agent = await opened(tmp_path)
    await agent.session.perform("t", CallTool("policy", "x", "take", '{"item": "pen"}'))
    await agent.session.perform("end", End())
    assert json.loads(agent.row["tools_shown"]) == {"policy": [Shop.tools["take"].schema.as_openai()]}
