"""Plays a stream whose groups are shared out among the ranks of a trainer (`ray_gym.stream.ranks`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import fields

from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError
from ray_gym.models.base import Engine
from ray_gym.models.versions import Versions
from ray_gym.run.resume import meaning_diff
from ray_gym.stream.calls import HostSetup, JoinedStream
from ray_gym.stream.cursor import Cursor
from ray_gym.stream.host import Host
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.ranks import Ranks


class SharedHost(Host):
    """A shared host is a `Host` that ranks join. It knows which groups all of them have acknowledged."""

    def __init__(self, setup: HostSetup) -> None:
        super().__init__(setup)
        self._started = asyncio.Event()

    def _make_ranks(self) -> Ranks:
        self._ranks = Ranks.at(self._cursor, self._setup.options.world_size)
        for number in self._known:
            self._ranks.drop(number, is_flat=number in self._known_flat)
        return self._ranks

    async def start(self, engines: Mapping[str, Engine]) -> dict[str, int]:
        """Does what `Host.start` does, and lets ranks join then."""
        versions = await super().start(engines)
        self._started.set()
        return versions

    async def join(self, rank: int, config: RunConfig, options: StreamOptions) -> JoinedStream:
        """Waits until the stream plays, and lets a rank take groups from it.

        `config`, `options`: those of the rank. Errors: UserError if they are not the stream's; RankIsTaken if the rank
        has joined already.
        """
        await self._started.wait()
        self._check_equal(rank, config, options)
        self._ranks.join(rank, options.world_size)
        return JoinedStream(self._directory.location, self._ranks.cursor(self._outbox.versions))

    async def leave(self, rank: int) -> None:
        """Notes that a rank takes no more groups. Those that it has not acknowledged are delivered when it joins again."""
        self._ranks.leave(rank)
        self._outbox.give_back(rank)
        self._notify()

    async def wait_until_left(self) -> None:
        """Waits until all ranks but rank 0 have left."""
        while self._ranks.joined - {0}:
            await self._changed.wait()

    async def cursor(self, versions: Versions) -> Cursor:
        """Notes the versions of the weights, and returns the cursor of all ranks. Errors: OSError."""
        await self.advance(versions)
        return self._ranks.cursor(self._outbox.versions)

    def _times_left(self, rank: int) -> int:
        return self._ranks.left[rank]

    def _check_equal(self, rank: int, config: RunConfig, options: StreamOptions) -> None:
        """Checks that a rank has opened the stream as rank 0 has. Errors: UserError with all differences."""
        mine = self._setup.options
        differences = [
            f"{field.name}: {getattr(mine, field.name)!r} -> {getattr(options, field.name)!r}"
            for field in fields(options)
            if getattr(mine, field.name) != getattr(options, field.name)
        ] + meaning_diff(self._setup.config, config)
        if differences:
            raise UserError(
                f"rank {rank} opens the stream otherwise than rank 0 (0 -> {rank}): {'; '.join(differences)}"
            )
