"""Gives the programs of an episode their seats, from which they reach the worker's door."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ray_gym.agents.door import AgentDoor
from ray_gym.agents.program import Hired, Site
from ray_gym.agents.running import Launcher
from ray_gym.agents.seat import Seat
from ray_gym.episode.episode import Episode
from ray_gym.episode.turn import Turn
from ray_gym.sandbox.sandbox import Sandbox


@dataclass(slots=True)
class Workplace:
    """Holds the sandbox of one episode, and the seats of the participants that programs play in it."""

    sandbox: Sandbox
    seats: dict[str, Seat] = field(default_factory=dict)
    """Seats by participant."""
    keys: list[str] = field(default_factory=list)
    """Keys with which their programs come to the door."""


class Workplaces:
    """Opens the workplaces of a worker's episodes at their first turn, and closes them when the episodes are over."""

    def __init__(self, agents: Mapping[str, Hired]) -> None:
        """Takes the agents by the participant that they play."""
        self._agents = agents
        self._door = AgentDoor()
        self._open: dict[int, Workplace] = {}
        """Workplaces by the `id` of their episodes, each of which is alive until it leaves."""

    async def open_door(self) -> Path:
        """Opens the door, unless it is open, and returns the path of its socket. Errors: OSError; UserError."""
        return await self._door.open()

    async def take_turn(self, episode: Episode, turn: Turn) -> None:
        """Has a program take the turn of its participant, in the episode's sandbox. Errors: those of `Seat.take_turn`, and
        of opening the sandbox.
        """
        place = self._open.get(id(episode))
        if place is None:
            place = self._open[id(episode)] = Workplace(await episode.sandbox.open())
        seat = place.seats.get(turn.speaker)
        if seat is None:
            seat = place.seats[turn.speaker] = self._seat(episode, turn.speaker, place)
        await seat.take_turn(turn)

    async def leave(self, episode: Episode) -> None:
        """Closes the workplace of an episode, if it has one: its programs can make no calls any more."""
        if (place := self._open.pop(id(episode), None)) is not None:
            for key in place.keys:
                self._door.let_out(key)

    async def close(self) -> None:
        """Closes the door."""
        await self._door.close()

    def _seat(self, episode: Episode, name: str, place: Workplace) -> Seat:
        hired, key = self._agents[name], f"rg-{secrets.token_urlsafe(24)}"
        assert place.sandbox.door_url is not None
        site = Site(place.sandbox.folder, place.sandbox.door_url, key, name)
        launcher = Launcher(hired.name, hired.program, place.sandbox, site, hired.deadline_s)
        seat = Seat(episode, episode.participants[name], launcher)
        place.keys.append(key)
        self._door.let_in(key, seat)
        return seat
