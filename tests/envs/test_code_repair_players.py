"""Checks that the player for agents finds the tool that runs commands, whatever its name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ray_gym import Message, ToolSchema
from ray_gym.envs.code_repair.players import _known, shell_player
from ray_gym.models.base import CompletionRequest, Sampling


def tool(name: str, *texts: str, required: list[str] | None = None) -> ToolSchema:
    properties: dict[str, Any] = {text: {"type": "string"} for text in texts}
    return ToolSchema(name, "", {"type": "object", "properties": properties, "required": required or list(texts)})


def answer(*tools: ToolSchema, said: str | None = None) -> Message:
    messages = [Message("user", _known(0, 4)[0].issue if said is None else said)]
    return shell_player(CompletionRequest(messages, Sampling(), "session", 0, tools=tools), tasks=4)


@pytest.mark.parametrize(
    ("tools", "name", "argument"),
    [
        ([tool("shell", "command")], "shell", "command"),
        ([tool("sh", "input")], "sh", "input"),
        ([tool("run", "script", "why", required=["script"])], "run", "script"),
        ([tool("read_file", "path"), tool("shell", "command")], "shell", "command"),
        ([tool("write", "path", "text"), tool("shell", "line")], "shell", "line"),
        ([tool("bash", "cmd")], "bash", "cmd"),
        ([tool("look", "path"), tool("exec_command", "cmd", "shell", required=["cmd"])], "exec_command", "cmd"),
    ],
)
def test_a_tool_that_takes_one_text_is_a_shell(tools: list[ToolSchema], name: str, argument: str) -> None:
    [call] = answer(*tools).tool_calls
    assert call.name == name and list(json.loads(call.arguments)) == [argument]


@pytest.mark.parametrize(
    ("tools", "had"),
    [
        ([], "I have: none"),
        ([tool("write", "path", "text")], "I have: write"),
        ([tool("a", "x"), tool("b", "y")], "a, b"),
    ],
)
def test_an_agent_without_a_shell_is_told_what_was_looked_for(tools: list[ToolSchema], had: str) -> None:
    said = answer(*tools).content
    assert "exec_command, Bash, bash, run_command, or one that takes one text" in said and had in said


def test_a_task_that_is_not_known_is_told_as_such() -> None:
    assert answer(tool("shell", "command"), said="Hello").content.startswith("I don't know this package: it is none of")
