"""Plays tasks with the tools of MCP servers, which a config names: the servers are the world, and may score it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, JsonValue, model_validator

from ray_gym import Environment, Episode, Opening, Participant, Score, Task, Tool
from ray_gym.environment import Options
from ray_gym.errors import UserError
from ray_gym.graders import ExactMatch, answer_line, folded
from ray_gym.mcp.options import McpServer
from ray_gym.mcp.servers import McpServers, McpSession
from ray_gym.printable import beginning
from ray_gym.task import Words


class McpTask(Task):
    """A task has words for the policy, and the answer that is right or the arguments by which the servers know the task."""

    prompt: Words
    answer: str | None = None
    """Right answer, which the policy gives in its last line as `Answer: ...`; None if a tool scores the episode."""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """Arguments of the tools that set an episode up and score it."""


class McpOptions(Options):
    """Names the servers, and the tools that are the environment's own."""

    servers: Annotated[Mapping[str, McpServer], Field(min_length=1)]
    """Servers by name."""
    setup_tool: str | None = None
    """Tool that is called with the task's arguments before an episode; the policy does not get it."""
    score_tool: str | None = None
    """Tool that is called with the task's arguments after an episode, and gives its reward: a number, or JSON with the
    field `reward`. The policy does not get it. None: the policy's answer is compared with the task's."""
    reward_range: tuple[float, float] = (0.0, 1.0)
    """Lowest and highest reward."""

    @model_validator(mode="after")
    def _check(self) -> McpOptions:
        if self.setup_tool is not None and self.setup_tool == self.score_tool:
            raise ValueError("score_tool: it is the setup_tool, too")
        return self

    @property
    def own_tools(self) -> tuple[str, ...]:
        """Returns the tools that no participant gets."""
        return tuple(name for name in (self.setup_tool, self.score_tool) if name is not None)


class Mcp(Environment[McpTask, McpSession]):
    """Plays tasks with the tools of MCP servers."""

    opens_outside = True
    pattern = "multi-step"
    scoring = "exact match of the answer, or a tool of a server"
    Options = McpOptions

    def __init__(self, options: McpOptions) -> None:
        super().__init__(options)
        self.reward_range = options.reward_range
        self.servers = McpServers(options.servers)

    async def prepare_worker(self) -> None:
        there = await self.servers.check(participants=self.participants)
        for option in ("setup_tool", "score_tool"):
            if (name := getattr(self.options, option)) is not None and name not in there:
                told = f"the servers have no tool {name!r}; there are: {', '.join(sorted(there)) or 'none'}"
                raise UserError(f"environment.{option}: {told}")

    async def close(self) -> None:
        await self.servers.close()

    def check(self, task: McpTask) -> None:
        if (task.answer is None) != (self.options.score_tool is not None):
            raise ValueError("answer: a task has one unless the option score_tool names a tool that scores")

    async def setup(self, task: McpTask, episode: Episode) -> McpSession:
        session = await self.servers.open(episode)
        if self.options.setup_tool is not None:
            await session.ask(self.options.setup_tool, task.arguments)
        return session

    def opening(self, task: McpTask, state: McpSession) -> Opening:
        form = "" if task.answer is None else "\nEnd with a line of the form 'Answer: ...'."
        return Opening(messages={"policy": task.prompt + form})

    def tools_for(self, task: McpTask, state: McpSession) -> Sequence[Tool]:
        return state.tools(self.call, without=self.options.own_tools)

    async def call(self, state: McpSession, caller: Participant, name: str, arguments: dict[str, Any]) -> str:
        """Calls a tool of any of the servers, and returns its text. Errors: ToolError; EpisodeFailure."""
        return await state.call(name, arguments)

    async def score(self, state: McpSession, episode: Episode) -> float | Score:
        if self.options.score_tool is None:
            return await ExactMatch(episode.task.answer, extract=answer_line, normalise=_plain).score(episode)
        told = await state.ask(self.options.score_tool, episode.task.arguments)
        reward = read_reward(told)
        episode.record_verdict(self.options.score_tool, reward, beginning(told, 1000))
        return reward


def read_reward(told: str) -> float:
    """Reads the reward in the result of a scoring tool. Errors: ValueError if there is no number in it."""
    try:
        read = json.loads(told)
    except ValueError:
        read = None
    reward = read.get("reward") if isinstance(read, dict) else read
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not math.isfinite(reward):
        raise ValueError(f"score_tool: expected a number, or JSON with the field reward, got {beginning(told, 200)!r}")
    return float(reward)


def _plain(answer: str) -> str:
    """Returns an answer without what the prompt does not ask for: letter case, further spaces and a full stop."""
    return folded(answer).removesuffix(".")
