"""Takes turns by an agent of OpenAI's Agents SDK with a shell and the environment's tools. It speaks the Responses API,
streamed, and MCP.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agents import Agent, Runner, function_tool
from agents.mcp import MCPServerStreamableHttp

if TYPE_CHECKING:
    from ray_gym.agents.function_turn import AgentContext

NO_LIMIT = 10**6
"""Calls that the SDK may make in a turn: the episode has limits of its own."""
TOOL_S = 3600.0
"""Seconds that a tool of the environment may take: it has a deadline of its own."""


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
    past: list[Any] = context.state.get("past", [])
    address = {"url": context.mcp_url, "headers": {"Authorization": f"Bearer {context.key}"}, "timeout": TOOL_S}
    async with MCPServerStreamableHttp(address, client_session_timeout_seconds=TOOL_S) as tools:
        agent = Agent(name=context.model, model=context.model, tools=[function_tool(shell)], mcp_servers=[tools])
        result = Runner.run_streamed(agent, [*past, {"role": "user", "content": words}], max_turns=NO_LIMIT)
        async for _ in result.stream_events():
            pass
    context.state["past"] = result.to_input_list()
    return str(result.final_output)
