"""Takes turns by an agent of OpenAI's Agents SDK with a shell. It speaks the Responses API, streamed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agents import Agent, Runner, function_tool

if TYPE_CHECKING:
    from ray_gym.agents.function_turn import AgentContext

NO_LIMIT = 10**6
"""Calls that the SDK may make in a turn: the episode has limits of its own."""


async def shell(command: str) -> str:
    """Runs a command of the shell, and returns what it printed with its exit code."""
    pipe = asyncio.subprocess.PIPE
    program = await asyncio.create_subprocess_exec(
        "sh", "-c", command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await program.communicate()
    return f"{printed.decode('utf-8', 'replace')}exit code {program.returncode}"


async def play(words: str, context: AgentContext) -> str:
    """Runs the agent, which goes on in its conversation, and returns its last words."""
    agent = Agent(name=context.model, model=context.model, tools=[function_tool(shell)])
    past: list[Any] = context.state.get("past", [])
    result = Runner.run_streamed(agent, [*past, {"role": "user", "content": words}], max_turns=NO_LIMIT)
    async for _ in result.stream_events():
        pass
    context.state["past"] = result.to_input_list()
    return str(result.final_output)
