"""Checks that agents people use play the policy, in a sandbox: they write a file, a command of theirs fails, a second turn
goes on in the same conversation, and they call the environment's tools by MCP. Their samples hold the exact tokens.
"""

from __future__ import annotations

import os

import pytest
from cast import play_with
from mcp_by_shell import assert_calls_are_the_episodes, counting_by_shell
from shell_policy import SECOND, ByteTokens, assert_samples_are_exact, shell_policy
from till import Till, counting

from ray_gym.agents.claude_code import ClaudeCode
from ray_gym.agents.codex import Codex
from ray_gym.agents.pi import Pi
from ray_gym.agents.program import AgentProgram
from ray_gym.agents.running import BIN
from ray_gym.installed.cache import agents_dir

pytestmark = [pytest.mark.agents, pytest.mark.timeout(240)]


def here(agent: type[AgentProgram]) -> AgentProgram:
    """Makes an agent. Skips the test where its program is missing; where all parts have to be had, it fails."""
    made = agent(agent.Options())
    for name in made.needs():
        if not (agents_dir() / BIN / name).exists():
            reason = f"{name} is not installed: make agents"
            pytest.fail(reason) if os.environ.get("RAY_GYM_TEST_ALL") else pytest.skip(reason)
    return made


@pytest.mark.parametrize("agent", [Codex, ClaudeCode, Pi])
async def test_two_turns_with_commands_are_one_conversation(agent: type[AgentProgram]) -> None:
    model, said = ByteTokens(shell_policy), [SECOND, "Bye"]
    played, models = await play_with(
        {"policy": here(agent)}, [model] * 20, said, kind="bubblewrap", deadline_s=120, max_turns=2
    )
    assert played.failure is None and played.status == "completed", played.failure
    assert_samples_are_exact(played, model)
    heard = [text for role, text in models["user"].seen() if role == "user"]
    assert "No such file or directory" in heard[0] and heard[-1] == "It has hello."
    conversations = {
        event.thread for event in played.episode.events if event.kind == "message" and event.model == "policy"
    }
    assert len(conversations) == 1, "both turns, and all calls, are in one thread"
    assert models["policy"].requests[-1].tools == models["policy"].requests[0].tools


@pytest.mark.parametrize("agent", [Codex, ClaudeCode])
async def test_the_environments_tools_are_called_by_mcp(agent: type[AgentProgram]) -> None:
    played, models = await play_with(
        {"policy": here(agent)}, [counting] * 6, ["Bye"], kind="bubblewrap", deadline_s=120, environment=Till()
    )
    assert played.failure is None and played.status == "completed", played.failure
    assert played.episode.state == [60, 10] and "70 in it" in played.episode.answer, played.episode.answer
    calls = [event for event in played.episode.events if event.kind == "tool_call"]
    assert [one.tool_calls[0].id for one in calls] == ["call_0", "call_1", "call_2"]
    assert [one.error is None for one in calls] == [True, False, True]
    assert not [
        event.content for event in played.episode.events if event.kind == "note" and "asks for" in event.content
    ]
    names = {tool.name for tool in models["policy"].requests[0].tools}
    assert any(name.endswith("__put") for name in names) and not any(name.endswith("__rob") for name in names)


async def test_pi_calls_the_environments_tools_from_its_shell() -> None:
    model = ByteTokens(counting_by_shell)
    played, _ = await play_with(
        {"policy": here(Pi)}, [model] * 8, ["Bye"], kind="bubblewrap", deadline_s=120, environment=Till()
    )
    assert_calls_are_the_episodes(played)
    assert_samples_are_exact(played, model)
