"""Gives each episode a workplace: a sandbox, with a door where the programs in it find their models."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ray_gym.agents.door import AgentDoor
from ray_gym.agents.program import Hired, Site
from ray_gym.agents.running import Launcher
from ray_gym.agents.seat import Seat
from ray_gym.episode.episode import Episode
from ray_gym.episode.turn import Turn
from ray_gym.sandbox.kind import SandboxKind
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.sandbox import Sandbox


@dataclass(slots=True)
class Workplace:
    """Holds the sandbox of one episode, and the seats of the participants that programs play in it."""

    sandbox: Sandbox
    door: AgentDoor
    folder: tempfile.TemporaryDirectory[str]
    """Folder of the door's socket."""
    seats: dict[str, Seat] = field(default_factory=dict)
    """Seats by participant."""

    async def close(self) -> None:
        """Ends all programs, and removes what they left."""
        try:
            await self.sandbox.close()
        finally:
            await self.door.close()
            self.folder.cleanup()


class Workplaces:
    """Opens the workplaces of a worker's episodes at their first turn, and closes them when the episodes are over."""

    def __init__(self, kind: SandboxKind, limits: SandboxLimits, agents: Mapping[str, Hired]) -> None:
        """Takes the kind of the sandboxes, their limits, and the agents by the participant that they play."""
        self._kind, self._limits, self._agents = kind, limits, agents
        self._open: dict[int, Workplace] = {}
        """Workplaces by the `id` of their episodes, each of which is alive until it leaves."""

    async def take_turn(self, episode: Episode, turn: Turn) -> None:
        """Has a program take the turn of its participant. Errors: those of `Seat.take_turn`; UserError if there can be
        no sandbox.
        """
        place = self._open.get(id(episode))
        if place is None:
            place = self._open[id(episode)] = await self._make()
        seat = place.seats.get(turn.speaker)
        if seat is None:
            seat = place.seats[turn.speaker] = self._seat(episode, turn.speaker, place)
        await seat.take_turn(turn)

    async def leave(self, episode: Episode) -> None:
        """Closes the workplace of an episode, if it has one."""
        if (place := self._open.pop(id(episode), None)) is not None:
            await place.close()

    async def close(self) -> None:
        """Closes all workplaces."""
        places, self._open = list(self._open.values()), {}
        await asyncio.gather(*(place.close() for place in places))

    async def _make(self) -> Workplace:
        folder = tempfile.TemporaryDirectory(prefix="ray_gym-door-")
        socket, door = Path(folder.name) / "door", AgentDoor()
        try:
            await door.open(socket)
            return Workplace(await self._kind.open(self._limits, socket), door, folder)
        except BaseException:
            await door.close()
            folder.cleanup()
            raise

    def _seat(self, episode: Episode, name: str, place: Workplace) -> Seat:
        hired, key = self._agents[name], f"rg-{secrets.token_urlsafe(24)}"
        assert place.sandbox.door_url is not None
        site = Site(place.sandbox.folder, place.sandbox.door_url, key, name)
        launcher = Launcher(hired.name, hired.program, place.sandbox, site, hired.deadline_s)
        seat = Seat(episode, episode.participants[name], launcher)
        place.door.let_in(key, seat)
        return seat
