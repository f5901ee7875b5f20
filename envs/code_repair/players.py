"""Holds players that know the task: one that writes the mended modules, and one for agents, which has only a shell."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ray_gym import Message, ToolCall, ToolSchema
from ray_gym.envs.code_repair.generator import Wanted, make_task
from ray_gym.envs.code_repair.task import CodeRepairTask, File
from ray_gym.envs.code_repair.wording import path_of_tests
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player
from ray_gym.seeds import derive_seed

SHELLS = {"exec_command": "cmd", "Bash": "command", "bash": "command", "run_command": "command"}
"""Argument with the command, by the name of the tool that runs it: Codex's, Claude Code's, pi's and our own. Without one of
these, it is a tool that takes one text.
"""
DONE = "One expression in it was wrong, and I mended that."
MENDS_OF = 4
"""Number of tasks of which `shell_player` mends all but one."""


def writing_player(task: CodeRepairTask) -> Player:
    """Makes a player that writes the modules without the fault, and runs the tests."""
    calls = [("write", file.model_dump()) for file in task.fixed]
    calls.append(("run_command", {"command": f"python3 {path_of_tests(task.package)}"}))

    def player(request: CompletionRequest, rng: random.Random) -> Message:
        made = _results(request)
        return _call(made, *calls[made]) if made < len(calls) else Message("assistant", DONE)

    return player


def shell_player(request: CompletionRequest, seed: int = 0, tasks: int = 20) -> Message:
    """Plays by an agent's shell. It knows the first `tasks` generated ones of a run's `seed`: it mends them, but for one
    of `MENDS_OF`, in which it writes tests that always pass.
    """
    said = "\n".join(message.content for message in request.messages if message.role in ("system", "user"))
    known = _known(seed, tasks)
    number = next((number for number, task in enumerate(known) if task.issue in said), None)
    if number is None:
        return Message("assistant", f"I don't know this package: it is none of the first {tasks} of seed {seed}.")
    shell = _shell(request.tools)
    if shell is None:
        names = ", ".join(tool.name for tool in request.tools) or "none"
        looked_for = f"{', '.join(SHELLS)}, or one that takes one text, the command"
        return Message("assistant", f"I have no tool that runs a command. I looked for {looked_for}; I have: {names}.")
    commands, made = commands_of(known[number], mends=number % MENDS_OF > 0), _results(request)
    if made < len(commands):
        return _call(made, shell[0], {shell[1]: commands[made]})
    return Message("assistant", DONE)


def commands_of(task: CodeRepairTask, mends: bool) -> Sequence[str]:
    """Returns shell commands that mend a package, or only its tests, and run these."""
    tests = path_of_tests(task.package)
    files = task.fixed if mends else (File(path=tests, text="print('passed all')\n"),)
    return (
        f"python3 {tests}",
        *(f"printf %s {shlex.quote(file.text)} > {file.path}" for file in files),
        f"python3 {tests}",
    )


@lru_cache(maxsize=4)
def _known(seed: int, tasks: int) -> Sequence[CodeRepairTask]:
    """Returns the tasks that a run generates without options of the environment."""
    return [make_task(random.Random(derive_seed(seed, "task", index)), Wanted()) for index in range(tasks)]


def _shell(tools: Sequence[ToolSchema]) -> tuple[str, str] | None:
    """Returns the name of the tool that runs commands, and that of its argument with the command; None if there is none, or
    if several tools take one text, and it is not the command of just one by its name.
    """
    for tool in tools:
        if SHELLS.get(tool.name) in tool.parameters.get("properties", {}):
            return tool.name, SHELLS[tool.name]
    found = [(tool.name, text) for tool in tools if (text := _only_text(tool.parameters)) is not None]
    named = [one for one in found if one[1] in SHELLS.values()]
    return next((several[0] for several in (named, found) if len(several) == 1), None)


def _only_text(parameters: Mapping[str, Any]) -> str | None:
    """Returns the name of the only argument that a schema requires, or has, if that is a text; None otherwise."""
    properties = parameters.get("properties", {})
    names = parameters.get("required") or list(properties)
    is_text = len(names) == 1 and properties.get(names[0], {}).get("type") == "string"
    return str(names[0]) if is_text else None


def _results(request: CompletionRequest) -> int:
    return sum(message.role == "tool" for message in request.messages)


def _call(number: int, name: str, arguments: Mapping[str, str]) -> Message:
    return Message("assistant", tool_calls=(ToolCall(f"call_{number}", name, json.dumps(arguments)),))
