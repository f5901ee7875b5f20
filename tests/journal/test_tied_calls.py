"""Checks tool calls that an agent makes by MCP in a session: each is tied to the call of its model that asks for it, in a
replay, too, wherever the worker died.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from captured_agent import HELLO, SYSTEM, Agent, Twice, cuts, echoed, opened, user

from ray_gym import Message
from ray_gym.play.commands import CallTool, End


def command(agent: Agent, item: str, key: str) -> CallTool:
    return agent.session.ties.command_of(agent.session.episode, "policy", "take", f'{{"item": {item}}}', key)


async def test_ties_are_the_same_in_a_replay(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Twice())
    said = await agent.say(SYSTEM, HELLO)
    for number, item in enumerate(["1", "0", "0"]):
        given = command(agent, item, f"m{number}")
        await agent.session.perform(f"m{number}", given)
    results = [Message("tool", "one", tool_call_id=call.id) for call in said.tool_calls]
    await agent.say(SYSTEM, HELLO, echoed(said), *results)
    await agent.session.perform("end", End())
    ids = [event.tool_calls[0].id for event in agent.session.episode.events if event.kind == "tool_call"]
    assert ids[:2] == ["c1", "c0"] and ids[2].startswith("mcp_"), "c0 was made already"
    assert [event["kind"] for event in agent.row["events"]].count("note") == 1
    for name in cuts(agent.file):
        again = await opened(tmp_path, name, model=Twice())
        await again.session.settle()
        made = [event.tool_calls[0].id for event in again.session.episode.events if event.kind == "tool_call"]
        assert again.session.episode.calls.log.diverged is None and made == ids[: len(made)]
    assert again.row == agent.row


async def test_a_tie_that_was_made_by_another_worker_is_not_made_again(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Twice())
    await agent.say(SYSTEM, HELLO)
    await agent.session.perform("k0", command(agent, "0", "k0"))
    again = await opened(tmp_path, cuts(agent.file)[-1], model=Twice())
    assert command(again, "0", "k1").made_by == "agent" and command(again, "1", "k2").id == "c1"


@pytest.mark.parametrize(
    ("item", "made_by"), [("0", "model"), (" 0 ", "model"), ("2", "agent"), ('"0"', "agent")], ids=repr
)
async def test_arguments_have_to_be_the_same(tmp_path: Path, item: str, made_by: str) -> None:
    agent = await opened(tmp_path, model=Twice())
    await agent.say(SYSTEM, HELLO)
    assert command(agent, item, "k").made_by == made_by


async def test_an_answer_that_was_continued_asks_for_nothing_any_more(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Twice())
    said = await agent.say(SYSTEM, HELLO)
    results = [Message("tool", "one", tool_call_id=call.id) for call in said.tool_calls]
    await agent.say(SYSTEM, HELLO, echoed(said), *results, user("on"))
    assert command(agent, "0", "k").made_by == "agent"
