"""Gives the programs of an episode their seats, from which they reach the worker's door."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from ray_gym.agents.door import AgentDoor, Entrance
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
    entrance: Entrance
    """Socket by which its programs come to the door."""
    seats: dict[str, Seat] = field(default_factory=dict)
    """Seats by participant."""


class Workplaces:
    """Opens the workplaces of a worker's episodes at their first turn, and closes them when the episodes are over."""

    def __init__(self, agents: Mapping[str, Hired]) -> None:
        """Takes the agents by the participant that they play."""
        self._agents = agents
        self._door = AgentDoor()
        self._open: dict[int, Workplace] = {}
        """Workplaces by the `id` of their episodes, each of which is alive until it leaves."""
        self._entrances: dict[Sandbox, Entrance] = {}

    async def open_sandbox(self, kind: SandboxKind, limits: SandboxLimits) -> Sandbox:
        """Opens a sandbox with an entrance of its own to the door. Errors: OSError; UserError if there can be none."""
        entrance = await self._door.open()
        try:
            sandbox = await kind.open(limits, entrance.path)
        except BaseException:
            self._door.shut(entrance)
            raise
        self._entrances[sandbox] = entrance
        return sandbox

    def shut_out(self, sandbox: Sandbox) -> None:
        """Shuts the entrance of a sandbox that `open_sandbox` opened."""
        self._door.shut(self._entrances.pop(sandbox))

    async def take_turn(self, episode: Episode, turn: Turn) -> None:
        """Has a program take the turn of its participant, in the episode's sandbox. Errors: those of `Seat.take_turn`, and
        of opening the sandbox.
        """
        place = self._open.get(id(episode))
        if place is None:
            sandbox = await episode.sandbox.open()
            place = self._open[id(episode)] = Workplace(sandbox, self._entrances[sandbox])
        seat = place.seats.get(turn.speaker)
        if seat is None:
            seat = place.seats[turn.speaker] = self._seat(episode, turn.speaker, place)
        await seat.take_turn(turn)

    async def leave(self, episode: Episode) -> None:
        """Closes the workplace of an episode, if it has one: its programs can make no calls any more."""
        if (place := self._open.pop(id(episode), None)) is not None:
            self._door.shut(place.entrance)

    async def close(self) -> None:
        """Closes the door."""
        await self._door.close()

    def _seat(self, episode: Episode, name: str, place: Workplace) -> Seat:
        hired, key = self._agents[name], f"rg-{secrets.token_urlsafe(24)}"
        assert place.sandbox.door_url is not None
        site = Site(place.sandbox.folder, place.sandbox.door_url, key, name)
        launcher = Launcher(hired.name, hired.program, place.sandbox, site, hired.deadline_s)
        seat = Seat(episode, episode.participants[name], launcher, place.entrance.refused)
        place.entrance.seats[key] = seat
        return seat
