"""Plays a participant with a shell, by the official `openai` package: the Responses API, streamed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openai import OpenAI

from examples.agents.shell import COMMAND, run

if TYPE_CHECKING:
    from ray_gym.agents.function_turn import AgentContext

SHELL: Any = {"type": "function", "name": "shell", "description": "Runs a command of the shell.", "parameters": COMMAND}


def play(words: str, context: AgentContext) -> str:
    """Calls the model, and the commands that it asks for, until it asks for none. Returns its last words."""
    past: list[Any] = context.state.setdefault("past", [])
    past.append({"role": "user", "content": words})
    while True:
        with OpenAI().responses.stream(model=context.model, input=past, tools=[SHELL], store=False) as stream:
            said = stream.get_final_response()
        past += [item.to_dict() for item in said.output]
        calls = [item for item in said.output if item.type == "function_call"]
        if not calls:
            return said.output_text
        for call in calls:
            past.append({"type": "function_call_output", "call_id": call.call_id, "output": result_of(call.arguments)})


def result_of(arguments: str) -> str:
    """Runs the command in a call's arguments, which may be none of the kind asked for."""
    try:
        return run(json.loads(arguments)["command"])
    except (ValueError, LookupError, TypeError) as error:
        return f"expected a command: {error!r}"
