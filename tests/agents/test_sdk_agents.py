"""Checks that agents on other projects' SDKs play the policy: they write a file, a command of theirs fails, a second turn
goes on, they call the environment's tools by MCP, and the samples hold the exact tokens.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cast import play_with
from mcp_by_shell import assert_calls_are_the_episodes, counting_by_shell
from sandboxes import bubblewrap
from shell_policy import SECOND, ByteTokens, assert_samples_are_exact, shell_policy
from till import Till, counting

from ray_gym.agents.program import AgentProgram
from ray_gym.agents.python import Python, PythonOptions
from ray_gym.agents.sdk import PYTHON, MiniSweAgent, OpenAIAgents, SdkOptions
from ray_gym.installed.cache import agents_dir

pytestmark = pytest.mark.timeout(240)

OF_THIS_VENV = ("openai_chat", "openai_responses", "langgraph_agent")
"""Functions of examples/agents whose packages this venv has."""
OF_ANOTHER = ("pydantic_ai_agent", "smolagents_agent")
"""Functions whose packages `make agents` installs."""


def of_examples(name: str, interpreter: Path | None = None) -> Python:
    options = {"interpreter": str(interpreter)} if interpreter else {}
    return Python(PythonOptions(python=f"examples.agents.{name}:play", **options))


def installed() -> Path:
    """Returns the Python that `make agents` installs. Skips the test without it; where all parts have to be had, it fails."""
    if (path := agents_dir() / PYTHON).exists():
        return path
    reason = "the packages of agents are not installed: make agents"
    pytest.fail(reason) if os.environ.get("RAY_GYM_TEST_ALL") else pytest.skip(reason)


async def conversations_of(agent: AgentProgram, kind: str) -> int:
    """Plays two turns, and checks what is the same for all agents; returns the number of the policy's conversations."""
    model = ByteTokens(shell_policy)
    played, models = await play_with(
        {"policy": agent}, [model] * 20, [SECOND, "Bye"], kind=kind, deadline_s=120, max_turns=2
    )
    assert played.failure is None and played.status == "completed", played.failure
    assert_samples_are_exact(played, model)
    heard = [text for role, text in models["user"].seen() if role == "user"]
    assert "No such file or directory" in heard[0] and heard[1] == "It has hello."
    threads = {event.thread for event in played.episode.events if event.kind == "message" and event.model == "policy"}
    return len(threads)


@pytest.mark.agents
async def test_an_agent_on_the_anthropic_package() -> None:
    assert await conversations_of(of_examples("anthropic_agent"), "process") == 1


@pytest.mark.agents
@pytest.mark.parametrize("name", OF_THIS_VENV)
async def test_agents_of_this_venv_under_bubblewrap(name: str) -> None:
    bubblewrap()
    assert await conversations_of(of_examples(name), "bubblewrap") == 1


@pytest.mark.agents
async def test_pydantic_ai_under_bubblewrap() -> None:
    bubblewrap()
    assert await conversations_of(of_examples("pydantic_ai_agent", installed()), "bubblewrap") == 1


@pytest.mark.agents
async def test_smolagents_tells_its_calls_as_texts_so_each_step_is_a_sample() -> None:
    bubblewrap()
    assert await conversations_of(of_examples("smolagents_agent", installed()), "bubblewrap") == 5


@pytest.mark.agents
@pytest.mark.parametrize("agent", [OpenAIAgents, MiniSweAgent])
async def test_agents_of_kinds_of_their_own(agent: type[OpenAIAgents] | type[MiniSweAgent]) -> None:
    bubblewrap()
    installed()
    assert await conversations_of(agent(SdkOptions()), "bubblewrap") == 1


@pytest.mark.agents
async def test_openais_agents_sdk_calls_the_environments_tools_by_mcp() -> None:
    bubblewrap()
    installed()
    played, _ = await play_with(
        {"policy": OpenAIAgents(SdkOptions())}, [counting] * 6, kind="bubblewrap", deadline_s=120, environment=Till()
    )
    assert played.failure is None and played.episode.state == [60, 10] and "70 in it" in played.episode.answer
    calls = [event for event in played.episode.events if event.kind == "tool_call"]
    assert [one.tool_calls[0].id for one in calls] == ["call_0", "call_1", "call_2"]


@pytest.mark.agents
@pytest.mark.parametrize("name", ["anthropic_agent", *OF_THIS_VENV, *OF_ANOTHER, "mini-swe-agent"])
async def test_agents_without_a_client_call_the_environments_tools_from_their_shell(name: str) -> None:
    bubblewrap()
    interpreter = None if name in ("anthropic_agent", *OF_THIS_VENV) else installed()
    agent = MiniSweAgent(SdkOptions()) if name == "mini-swe-agent" else of_examples(name, interpreter)
    model = ByteTokens(counting_by_shell)
    played, _ = await play_with({"policy": agent}, [model] * 8, kind="bubblewrap", deadline_s=120, environment=Till())
    assert_calls_are_the_episodes(played)
    assert_samples_are_exact(played, model)
