"""Plays a participant with a shell, by pydantic-ai (chat completions, streamed).

pip install 'pydantic-ai-slim[openai]', or `make agents`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel

from examples.agents.shell import run

if TYPE_CHECKING:
    from ray_gym.agents.function_turn import AgentContext


async def play(words: str, context: AgentContext) -> str:
    """Runs the agent, and returns its last words."""
    agent = Agent(OpenAIChatModel(context.model))

    @agent.tool_plain
    def shell(command: str) -> str:
        """Runs a command of the shell."""
        return run(command)

    past = ModelMessagesTypeAdapter.validate_python(context.state.get("past", []))
    async with agent.run_stream(words, message_history=past) as result:
        said = await result.get_output()
    context.state["past"] = ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
    return said
