"""Offers the tools of a participant to the MCP client of the program that plays it. Each call is a tool call of the
episode, which the worker carries out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from ray_gym.agents.turn_calls import TurnCalls
from ray_gym.episode.episode import Episode
from ray_gym.episode.participant import Participant
from ray_gym.mcp.offering import unknown_tool
from ray_gym.messages import ToolSchema
from ray_gym.openai_api.refused import Refused
from ray_gym.play.capture import Capture
from ray_gym.play.commands import call_tool
from ray_gym.play.ties import Ties
from ray_gym.stop import EpisodeOver
from ray_gym.tools.answer import ToolAnswer

MOST_CALLS = 10_000
"""Most tool calls of a program in an episode."""
MOST_ARGUMENTS = 1_000_000
"""Most characters of the arguments of a call."""
MOST_OF_ALL = 20_000_000
"""Most characters of the arguments of all calls of a program in an episode, which the record has."""


class Seated(Protocol):
    """Describes a seat to its tools."""

    @property
    def episode(self) -> Episode: ...

    @property
    def participant(self) -> Participant: ...

    @property
    def captures(self) -> dict[str, Capture]: ...

    @property
    def calls(self) -> TurnCalls: ...

    def end(self) -> None: ...

    def fail(self, error: BaseException) -> Refused: ...


class SeatTools:
    """Offers tools, which can be called while the program's turn lasts."""

    def __init__(self, seat: Seated) -> None:
        self._seat = seat
        self._ties = Ties()
        self._made = 0
        """Number of calls so far."""
        self._written = 0
        """Number of characters of their arguments."""

    async def tools(self) -> Sequence[ToolSchema]:
        """Returns the tools that the participant may call."""
        return self._seat.episode.tools_of(self._seat.participant)[0]

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Calls a tool as the participant. If that ends the episode, the program is ended. Errors: Refused."""
        if name not in {tool.name for tool in await self.tools()}:
            raise unknown_tool(name)
        if self._made >= MOST_CALLS:
            return _refusal(f"you have made {MOST_CALLS:,} calls, as many as there may be")
        text = json.dumps(arguments, ensure_ascii=False)
        if len(text) > MOST_ARGUMENTS:
            return _refusal(f"the arguments are {len(text):,} characters long, and may have {MOST_ARGUMENTS:,}")
        if self._written + len(text) > MOST_OF_ALL:
            return _refusal(f"the arguments of your calls are {MOST_OF_ALL:,} characters long, as many as there may be")
        self._made += 1
        self._written += len(text)
        try:
            return await self._seat.calls.run(self._carry_out(name, text, self._made))
        except Refused as error:
            if error.status != 400:
                raise
            return _refusal(error.message)

    async def _carry_out(self, name: str, arguments: str, number: int) -> ToolAnswer:
        seat, episode = self._seat, self._seat.episode
        command = self._ties.command_of(
            episode, seat.participant.name, name, arguments, f"{seat.participant.name} {number}"
        )
        try:
            answer = await call_tool(episode, command, seat.captures)
        except EpisodeOver:
            answer = None
        except Exception as error:
            raise seat.fail(error) from None
        if answer is None or episode.stopped:
            seat.end()
        return answer or _refusal("the episode is over")


def _refusal(why: str) -> ToolAnswer:
    return ToolAnswer(why, why)
