"""Checks calls of a black-box agent that are retried, or made once more."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from captured_agent import HELLO, SYSTEM, Echo, cuts, opened, user

from ray_gym import Message
from ray_gym.play.commands import CallTool, End, Say
from ray_gym.play.session import KeyReused


async def test_a_key_is_one_commands(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    taken = CallTool("policy", "x", "take", '{"item": "pen"}')
    first = await agent.session.perform("k", taken)
    assert await agent.session.perform("k", taken) is first
    for other in (replace_item(taken, "book"), Say("policy", "Hello"), End()):
        with pytest.raises(KeyReused):
            await agent.session.perform("k", other)
    with pytest.raises(KeyReused):
        await agent.call(SYSTEM, HELLO, key="k")


def replace_item(call: CallTool, item: str) -> CallTool:
    return CallTool(call.participant, call.id, call.name, json.dumps({"item": item}))


async def left(caller: asyncio.Task[Message]) -> None:
    """Its client goes away, and the gateway notices it."""
    caller.cancel()
    await asyncio.wait([caller])


@pytest.mark.parametrize("says_so", [True, False])
async def test_a_call_that_is_sent_again_counts_once(tmp_path: Path, says_so: bool) -> None:
    model = Echo({"slow": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    talk = (SYSTEM, user("slow"))
    first = asyncio.create_task(agent.say(*talk))
    await model.was_asked("slow")
    again = asyncio.create_task(agent.say(*talk, again=says_so))
    await asyncio.sleep(0)  # what it asks next arrives before the news that it has gone
    await left(first)
    model.held["slow"].set()
    await again
    assert model.asked == ["slow"]
    await agent.say(*talk, again=says_so, arrives=False)
    assert len(model.asked) == 2, "what was delivered is not given again"
    await agent.say(*talk)
    assert len(model.asked) == 2, "what was not is"
    for _ in range(2):
        await agent.say(*talk, key="one more")
    assert len(model.asked) == 3
    await agent.session.perform("end", End())
    assert [count for *_, count in agent.samples] == [1, 1, 1]


async def test_a_call_that_is_sent_again_before_the_first_was_begun_counts_once(tmp_path: Path) -> None:
    model = Echo({"re: Hello": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    saying = asyncio.create_task(agent.session.perform("s", Say("policy", "re: Hello")))
    await model.was_asked("re: Hello")
    talk = (SYSTEM, user("now"))
    first = asyncio.create_task(agent.say(*talk))
    await asyncio.sleep(0)
    again = asyncio.create_task(agent.say(*talk))
    await asyncio.sleep(0)
    await left(first)
    model.held["re: Hello"].set()
    await saying
    await again
    assert model.asked.count("now") == 1


async def test_a_sample_that_was_refused_at_first_is_no_earlier_one(tmp_path: Path) -> None:
    """The client marks two of three equal requests as retries, but each gets an answer of its own from the model."""
    model = Echo({"slow": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    first = asyncio.create_task(agent.say(SYSTEM, user("slow")))
    await model.was_asked("slow")
    again = asyncio.create_task(agent.say(SYSTEM, user("slow"), again=True))
    await asyncio.sleep(0)
    model.held["slow"].set()
    for asking in (first, again, agent.say(SYSTEM, user("slow"), again=True)):
        await asking
    assert model.asked == ["slow"] * 3
    await agent.session.perform("end", End())
    assert sum(count for *_, count in agent.samples) == 3


async def test_samples_side_by_side_are_as_many_as_were_asked_for(tmp_path: Path) -> None:
    model = Echo({"slow": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    callers = [asyncio.create_task(agent.say(SYSTEM, user("slow"))) for _ in range(3)]
    async with model.news, asyncio.timeout(5):
        await model.news.wait_for(lambda: model.asked == ["slow"] * 3)
    model.held["slow"].set()
    await asyncio.gather(*callers)
    await agent.session.perform("end", End())
    assert [count for *_, count in agent.samples] == [1, 1, 1]


async def test_after_a_death_only_who_says_so_asks_again(tmp_path: Path) -> None:
    """Nobody knows then what was delivered."""
    agent = await opened(tmp_path)
    await agent.say(SYSTEM, HELLO)
    again = await opened(tmp_path, cuts(agent.file)[-1])
    await again.session.settle()
    await again.say(SYSTEM, HELLO, again=True)
    assert again.model.asked == []
    await again.say(SYSTEM, HELLO)
    assert len(again.model.asked) == 1


async def test_what_was_not_delivered_is_told_also_after_a_death(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    await agent.say(SYSTEM, HELLO, asker="mine")
    again = await opened(tmp_path, cuts(agent.file)[-1])
    await again.session.settle()
    again.session.deliveries.settle("mine", False)
    await again.say(SYSTEM, HELLO)
    assert again.model.asked == []
