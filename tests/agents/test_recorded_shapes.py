"""Checks that the committed shapes are those of what the installed programs send.

After a new version of a program, `RAY_GYM_WRITE_SHAPES=1 make test-agents` writes them anew; `docs/agents_fields.md` has to
say what becomes of a new field.
"""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

import pytest
from agent_shapes import OF_MCP, PROGRAMS, calls_of, file_of, messages_of, unfold, whole
from cast import play_with
from fields import fields_of
from recording import Exchange, RecordingDoor
from roster import ROSTER
from shaping import shape_of, shape_of_messages, written
from shell_policy import COMMANDS, SECOND, next_step
from till import Till, counting

from ray_gym.agents import workplaces
from ray_gym.agents.program import AgentProgram
from ray_gym.anthropic_api.answer import UNSIGNED
from ray_gym.messages import Message, ToolCall
from ray_gym.models.base import Completion, CompletionRequest

pytestmark = [pytest.mark.agents, pytest.mark.timeout(240)]

ASKED = ("What is 6 times 7?", SECOND)
"""Words that the program hears in its two turns."""


async def record(agent: AgentProgram) -> list[dict[str, Any]]:
    """Has a program create a file, fail a command, and take a second turn; returns the shape of what it sent."""
    exchanges: list[Exchange] = []
    said: list[Message] = []

    async def policy(request: CompletionRequest) -> Completion:
        number = len(said)
        step = next_step(request, f"Failed: step {number}.").message
        calls = tuple(ToolCall(f"call_{number}", call.name, call.arguments) for call in step.tool_calls)
        content = step.content or (f"Step {number}." if number else "")
        said.append(Message("assistant", content, f"Thought {number}.", calls))
        return Completion(said[-1])

    with patch.object(workplaces, "AgentDoor", lambda: RecordingDoor(exchanges)):
        replies: list[Any] = [policy] * 20
        played, _ = await play_with(
            {"policy": agent}, replies, [SECOND, "Bye"], kind="bubblewrap", deadline_s=120, max_turns=2
        )
    assert played.failure is None and played.status == "completed", played.failure
    calls = [call.id for message in said for call in message.tool_calls]
    ours = {
        "policy",
        UNSIGNED,
        *ASKED,
        *COMMANDS,
        *calls,
        *(text for one in said for text in (one.content, one.reasoning or "")),
    }
    return shape_of([one for one in exchanges if not one.path.endswith("/mcp")], said, ours)


def write(program: str, file: str, shapes: list[dict[str, Any]]) -> None:
    """Writes the shapes that were recorded, if that is wanted."""
    if os.environ.get("RAY_GYM_WRITE_SHAPES"):
        version = ROSTER[program].version()
        file_of(file).write_text(written({"program": program, "version": version, "calls": shapes}) + "\n")


@pytest.mark.parametrize("name", PROGRAMS)
async def test_programs_send_what_the_committed_shapes_have(name: str) -> None:
    shapes = await record(ROSTER[name].make())
    write(name, name, shapes)
    known, sent = fields_of(calls_of(name)), fields_of(unfold(shapes))
    unknown = sorted(f"{path} {value}" for path in sent for value in sent[path] - known.get(path, set()))
    assert unknown == [], "RAY_GYM_WRITE_SHAPES=1 writes the shapes anew"


@pytest.mark.parametrize("name", OF_MCP)
async def test_programs_call_tools_as_the_committed_shapes_have(name: str) -> None:
    exchanges: list[Exchange] = []
    with patch.object(workplaces, "AgentDoor", lambda: RecordingDoor(exchanges)):
        played, _ = await play_with(
            {"policy": ROSTER[name].make()}, [counting] * 6, kind="bubblewrap", deadline_s=120, environment=Till()
        )
    assert played.episode.state == [60, 10]
    ours = {"policy", "put", *(f"call_{number}" for number in range(3))}
    shapes = shape_of_messages([one for one in exchanges if one.path.endswith("/mcp")], ours)
    write(name, f"{name}_mcp", shapes)
    known, sent = fields_of(messages_of(name)), fields_of(whole(shapes))
    assert sorted(f"{path} {value}" for path in sent for value in sent[path] - known.get(path, set())) == []
