"""Plays a participant with a shell, by the official `anthropic` package (the Messages API, streamed).

ray-gym rollout examples/agents/math.yaml
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from anthropic import Anthropic

if TYPE_CHECKING:
    from ray_gym.agents.function_turn import AgentContext

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
SHELL: Any = {"name": "shell", "description": "Runs a command of the shell.", "input_schema": COMMAND}


def play(words: str, context: AgentContext) -> str:
    """Calls the model, and the commands that it asks for, until it asks for none. Returns its last words."""
    client = Anthropic()
    past: list[Any] = context.state.setdefault("past", [])
    past.append({"role": "user", "content": words})
    while True:
        with client.messages.stream(model=context.model, max_tokens=1024, messages=past, tools=[SHELL]) as stream:
            said = stream.get_final_message()
        past.append({"role": "assistant", "content": [block.to_dict() for block in said.content]})
        results = [run(block) for block in said.content if block.type == "tool_use"]
        if not results:
            return "".join(block.text for block in said.content if block.type == "text")
        past.append({"role": "user", "content": results})


def run(call: Any) -> dict[str, Any]:
    """Runs the command of a call, and returns the block that tells its result."""
    result = {"type": "tool_result", "tool_use_id": call.id}
    try:
        done = subprocess.run(["sh", "-c", call.input["command"]], capture_output=True, text=True, timeout=60)
    except (KeyError, TypeError, subprocess.TimeoutExpired) as error:
        return {**result, "content": repr(error), "is_error": True}
    return {**result, "content": done.stdout + done.stderr, "is_error": done.returncode != 0}
