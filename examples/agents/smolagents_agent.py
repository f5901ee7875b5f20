"""Plays a participant with a shell, by smolagents: an agent that calls tools, over chat completions.

pip install 'smolagents[openai]', or `make agents`
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING

from smolagents import OpenAIServerModel, ToolCallingAgent, tool

from examples.agents.shell import run

if TYPE_CHECKING:
    from ray_gym.agents.function_turn import AgentContext

MEMORY = Path(".agent/memory.pickle")
"""Its steps are objects of its own, so they are kept in a file of the sandbox's rather than in the context's state."""


@tool
def shell(command: str) -> str:
    """Runs a command of the shell.

    Args:
        command: The command.
    """
    return run(command)


def play(words: str, context: AgentContext) -> str:
    """Runs the agent until it gives its final answer, which it does by a tool of its own. Returns that."""
    model = OpenAIServerModel(context.model, api_base=context.openai_url, api_key=context.key)
    agent = ToolCallingAgent([shell], model, stream_outputs=True, max_steps=20)
    if MEMORY.exists():
        agent.memory = pickle.loads(MEMORY.read_bytes())
    said = agent.run(words, reset=not context.turn)
    MEMORY.parent.mkdir(exist_ok=True)
    MEMORY.write_bytes(pickle.dumps(agent.memory))
    return str(said)
