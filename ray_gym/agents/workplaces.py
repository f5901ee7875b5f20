"""Gives the programs of an episode their seats, from which they reach the worker's door."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from ray_gym.agents.door import AgentDoor, Entrance
from ray_gym.agents.program import Hired, Site
from ray_gym.agents.running import Launcher
from ray_gym.agents.seat import Seat
from ray_gym.episode.blame import is_policy
from ray_gym.episode.episode import Episode
from ray_gym.episode.turn import Turn
from ray_gym.models.engine import Sized
from ray_gym.sandbox.kind import SandboxKind
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.sandbox import Sandbox


@dataclass(slots=True)
class Workplace:
    """Holds the seat of a participant that a program plays, and the socket by which it comes to the door."""

    seat: Seat
    entrance: Entrance


class Workplaces:
    """Opens the workplaces of a worker's episodes at their first turn, and closes them when the episodes are over."""

    def __init__(self, agents: Mapping[str, Hired]) -> None:
        """Takes the agents by the participant that they play."""
        self._agents = agents
        self._door = AgentDoor()
        self._open: dict[int, dict[str, Workplace]] = {}
        """Workplaces by the `id` of their episodes, each of which is alive until it leaves, and by participant."""
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
        """Has a program take the turn of its participant, in its sandbox. Errors: those of `Seat.take_turn`, and of opening
        the sandbox.
        """
        places = self._open.setdefault(id(episode), {})
        place = places.get(turn.speaker)
        if place is None:
            place = places[turn.speaker] = await self._place(episode, turn.speaker)
        await place.seat.take_turn(turn)

    async def leave(self, episode: Episode) -> None:
        """Closes the workplaces of an episode, if it has some: its programs can make no calls any more."""
        for place in self._open.pop(id(episode), {}).values():
            self._door.shut(place.entrance)

    async def close(self) -> None:
        """Closes the door."""
        await self._door.close()

    async def _place(self, episode: Episode, name: str) -> Workplace:
        """Makes the workplace of a participant: in the episode's sandbox, or, if another's program works there, in one of
        its own, so that neither has the other's key, files or conversation.
        """
        sandbox = await episode.sandbox.open()
        if name != self._owner(episode):
            sandbox = await episode.sandbox_beside().open()
        entrance, hired, key = self._entrances[sandbox], self._agents[name], f"rg-{secrets.token_urlsafe(24)}"
        assert sandbox.door_url is not None
        model, sampling = episode.threads[name].model, episode.participants[name].sampling
        length = await model.context_tokens() if isinstance(model, Sized) else None
        site = Site(sandbox.folder, sandbox.door_url, key, name, hired.deadline_s, sampling.max_tokens, length)
        launcher = Launcher(hired.name, hired.program, sandbox, site, hired.deadline_s, episode.clock)
        seat = Seat(episode, episode.participants[name], launcher, entrance.refused)
        entrance.seats[key] = seat
        return Workplace(seat, entrance)

    def _owner(self, episode: Episode) -> str:
        """Returns the participant whose program works in the episode's sandbox: the first policy, or else the first."""
        return min(self._agents, key=lambda name: not is_policy(episode.participants[name]))
