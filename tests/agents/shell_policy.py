"""Plays a policy that works with whatever shell an agent offers: it makes a file, a command of its fails, and it answers;
asked a second time, it reads the file. Its tokens are the bytes of what was said.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import Completion, CompletionRequest, TokenIds, VersionSpan
from ray_gym.play.play import Played
from ray_gym.record.rows import row_of

COMMANDS = ("echo hello > hello.txt", "ls /nowhere", "cat hello.txt")
SECOND = "Read it."
"""Words of the user that ask for the second turn."""
SHELLS = ("exec_command", "Bash", "bash", "shell")
"""Names of tools that run a command, which is their first required argument."""
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""Command by which mini-swe-agent's policy gives its answer."""


async def shell_policy(request: CompletionRequest) -> Completion:
    """Takes the next step: two commands on the first turn, one on the second, and then the answer."""
    return next_step(request)


def next_step(request: CompletionRequest, words: str = "") -> Completion:
    """Returns the next step. `words`: what the answer is instead of what the commands said; a first one has "Failed:"."""
    results = results_in(request)
    is_second = any(SECOND in message.content for message in request.messages if message.role == "user")
    if len(results) < (3 if is_second else 2):
        return running(request, COMMANDS[len(results)])
    told = "It has hello." if is_second and "hello" in results[2] else f"Failed: {results[-1]}"
    return answering(request, words or told)


def running(request: CompletionRequest, command: str) -> Completion:
    """Runs a command by the shell that the agent offers."""
    tools = {tool.name: tool for tool in request.tools}
    return _calling(request, next(tools[name] for name in SHELLS if name in tools), command)


def answering(request: CompletionRequest, answer: str) -> Completion:
    """Gives an answer, as the agent takes one."""
    tools = {tool.name: tool for tool in request.tools}
    if "final_answer" in tools:
        return _calling(request, tools["final_answer"], answer)
    if list(tools) == ["bash"]:
        return running(request, f"{SUBMIT} && printf %s {shlex.quote(answer)}")
    return Completion(Message("assistant", answer))


def results_in(request: CompletionRequest) -> list[str]:
    """Returns the results of the commands so far."""
    return [message.content for message in request.messages if _is_result(message)]


def _is_result(message: Message) -> bool:
    """Says whether a message is a command's result. smolagents tells them as the user's words, its answer too."""
    if message.role == "user":
        return message.content.startswith("Observation:") and "Failed:" not in message.content
    return message.role == "tool" and "submitted" not in message.content


def _calling(request: CompletionRequest, tool: ToolSchema, text: str) -> Completion:
    name = f"call_{sum(message.role == 'assistant' for message in request.messages)}"
    arguments = json.dumps({tool.parameters["required"][0]: text})
    return Completion(Message("assistant", tool_calls=(ToolCall(name, tool.name, arguments),)))


@dataclass
class ByteTokens:
    """Adds tokens to the answers of a policy, which are bytes, and remembers what each call was given and drew."""

    policy: Callable[[CompletionRequest], Awaitable[Completion]]
    calls: list[tuple[TokenIds, TokenIds]] = field(default_factory=list)

    async def __call__(self, request: CompletionRequest) -> Completion:
        said = await self.policy(request)
        new = [_ids(_spelled(message)) for message in request.messages[request.known :]]
        said.prompt_ids = np.concatenate([*new, _ids("assistant: ")])
        said.prompt_lengths = tuple(map(len, new))
        said.token_ids = _ids(_spelled(said.message).removeprefix("assistant: "))
        said.logprobs = np.full(len(said.token_ids), -0.5, dtype=np.float32)
        said.versions = (VersionSpan(7, 0, len(said.token_ids)),)
        given = np.concatenate([request.history, said.prompt_ids])
        assert bytes(given.tolist()).decode() == "".join(map(_spelled, request.messages)) + "assistant: "
        self.calls.append((given, said.token_ids))
        return said


def assert_samples_are_exact(played: Played, model: ByteTokens) -> None:
    """Checks that the policy's samples are what the model was given and what it drew, and nothing else."""
    samples = [one for one in row_of(played, "run", "env")["samples"] if one["participant"] == "policy"]
    wholes = {bytes([*given.tolist(), *drawn.tolist()]) for given, drawn in model.calls}
    assert model.calls and {bytes(list(one["token_ids"])) for one in samples} <= wholes
    for given, drawn in model.calls:
        start, end = len(given), len(given) + len(drawn)
        assert any(_is_held(one, given, drawn) and all(one["loss_mask"][start:end]) for one in samples)
    assert sum(sum(one["loss_mask"]) for one in samples) == sum(len(drawn) for _, drawn in model.calls)


def _is_held(sample: dict[str, Any], given: TokenIds, drawn: TokenIds) -> bool:
    whole = [*given.tolist(), *drawn.tolist()]
    return list(sample["token_ids"][: len(whole)]) == whole


def _spelled(message: Message) -> str:
    calls = "".join(f" {call.name}{call.arguments}" for call in message.tool_calls)
    return f"{message.role}: {message.content}{calls}\n"


def _ids(text: str) -> TokenIds:
    return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int32)
