"""Defines how an episode has a program take a participant's turn. `ray_gym.agents.workplaces.Workplaces` does it."""

from __future__ import annotations

from typing import Any, Protocol

from ray_gym.episode.turn import Turn


class Agents(Protocol):
    """Describes the programs of a worker to its episodes. `episode` is a `ray_gym.episode.episode.Episode`, which this
    module can't import.
    """

    async def take_turn(self, episode: Any, turn: Turn) -> None:
        """Has a program take the turn of its participant, each of its model calls a step of it. The turn's words are
        what the program says in the end. Errors: EpisodeFailure if the program or a call of it fails.
        """
        ...

    async def leave(self, episode: Any) -> None:
        """Takes no more calls of the programs of an episode that is over; its sandbox ends them."""
        ...

    async def close(self) -> None:
        """Takes no more calls."""
        ...
