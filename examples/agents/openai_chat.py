"""Plays a participant with a shell, by the official `openai` package: chat completions, with a free-form tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openai import OpenAI

from examples.agents.shell import run

if TYPE_CHECKING:
    from ray_gym.agents.function_turn import AgentContext

SHELL: Any = {"type": "custom", "custom": {"name": "shell", "description": "Runs a command of the shell."}}


def play(words: str, context: AgentContext) -> str:
    """Calls the model, and the commands that it asks for, until it asks for none. Returns its last words."""
    past: list[Any] = context.state.setdefault("past", [])
    past.append({"role": "user", "content": words})
    while True:
        said = OpenAI().chat.completions.create(model=context.model, messages=past, tools=[SHELL]).choices[0].message
        past.append(said.to_dict())
        if not said.tool_calls:
            return said.content or ""
        for call in said.tool_calls:
            result = run(call.custom.input) if call.type == "custom" else "there is no such tool"
            past.append({"role": "tool", "tool_call_id": call.id, "content": result})
