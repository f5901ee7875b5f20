"""Checks that the real programs wait for the environment's tools, and make a summary of their conversation before the
model's context is full.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any

import pytest
from cast import play_with
from playing import ScriptModel
from shell_policy import running
from test_real_programs import here
from till import Till, counting

from ray_gym.agents.claude_code import ClaudeCode
from ray_gym.agents.codex import Codex
from ray_gym.agents.pi import Pi
from ray_gym.agents.program import AgentProgram
from ray_gym.mcp.offering import answer_post
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.openai_api.refused import Refused

pytestmark = [pytest.mark.agents, pytest.mark.timeout(240)]

ASKING = (
    "CONTEXT CHECKPOINT COMPACTION",
    "create a detailed summary",
    "conversation to summarize",
    "NEW conversation messages to incorporate",
    "This is the PREFIX of a turn",
)
"""Words by which the programs ask for a summary."""
LATE_S = 6.0
"""Seconds after which the server answers. A program that does not wait has called its model by then."""


@pytest.mark.parametrize("agent", [Codex, ClaudeCode])
async def test_a_late_server_is_waited_for(agent: type[AgentProgram], monkeypatch: pytest.MonkeyPatch) -> None:
    has_asked = asyncio.Event()

    async def answer_late(message: Any, *others: Any) -> Any:
        if message.get("method") == "initialize":
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(has_asked.wait(), LATE_S)
        return await answer_post(message, *others)

    async def noting(request: CompletionRequest) -> Completion:
        has_asked.set()
        return await counting(request)

    monkeypatch.setattr("ray_gym.agents.door.answer_post", answer_late)
    played, _ = await play_with(
        {"policy": here(agent)}, [noting] * 6, kind="bubblewrap", deadline_s=120, environment=Till()
    )
    assert played.failure is None and played.episode.state == [60, 10], played.failure


async def test_codex_ends_without_a_model_call_if_the_server_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*call: Any) -> Any:
        raise Refused(500, "broken", "it is broken")

    monkeypatch.setattr("ray_gym.agents.door.answer_post", fail)
    played, models = await play_with({"policy": here(Codex)}, [counting], kind="bubblewrap", environment=Till())
    assert played.failure is not None and not models["policy"].requests
    assert "required MCP servers failed to initialize: environment" in played.failure.message


@dataclass
class Reader:
    """Reads long texts until it has made some steps, and makes a summary when it is asked for one. It counts a token for
    each four characters.
    """

    context: int
    steps: int
    """Steps of the first turn. Further turns have one."""
    made: int = 0
    summaries: list[int] = field(default_factory=list)
    """Tokens of the conversation before each summary."""
    longest: int = 0

    async def __call__(self, request: CompletionRequest) -> Completion:
        last, tokens = request.messages[-1], _count(request)
        if last.role == "user" and any(words in last.content for words in ASKING):
            self.summaries.append(self.longest)
            return Completion(Message("assistant", "<summary>All was read.</summary>"), prompt_tokens=tokens)
        self.longest, self.made = max(self.longest, tokens), self.made + 1
        if tokens > self.context:
            return Completion(Message("assistant"), finish_reason="context_full", prompt_tokens=tokens)
        said = Message("assistant", "It is read.")
        if self.made < self.steps:
            said = running(request, f"seq {self.made * 10_000} {self.made * 10_000 + 1_300}").message
        return Completion(said, prompt_tokens=tokens, generated_tokens=20)


def _count(request: CompletionRequest) -> int:
    said = sum(len(one.content) + sum(len(call.arguments) for call in one.tool_calls) for one in request.messages)
    return (said + sum(len(tool.description) + len(str(tool.parameters)) for tool in request.tools)) // 4


@pytest.mark.parametrize(
    ("agent", "context", "steps"), [(Codex, 24_000, 10), (ClaudeCode, 42_000, 12), (Pi, 18_000, 8)]
)
async def test_a_summary_is_made_before_the_context_is_full(
    agent: type[AgentProgram], context: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Has pi take two turns, as it looks at the length of its conversation between turns alone."""

    async def context_tokens(model: ScriptModel) -> int:
        return context

    monkeypatch.setattr(ScriptModel, "context_tokens", context_tokens, raising=False)
    reader = Reader(context, steps)
    played, _ = await play_with(
        {"policy": here(agent)},
        [reader] * 40,
        ["Go on.", "Bye"],
        kind="bubblewrap",
        deadline_s=120,
        max_turns=2,
        max_steps_per_turn=30,
    )
    assert played.failure is None and played.status == "completed", played.failure
    assert reader.summaries and reader.longest < context
