"""Lets the ranks of a data-parallel trainer share one stream: each group goes to one of them.

Rank 0 owns the stream: it starts the models and the host, changes the weights, and ends it. The other ranks are
processes on the same Ray cluster that find the host by its name. All of them have the same cursor, since the host knows
what each has acknowledged.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import ray

from ray_gym.errors import RunFailed, UserError
from ray_gym.models.versions import Versions
from ray_gym.run.cluster import cluster
from ray_gym.run.directory.directory import output_root
from ray_gym.run.directory.location import child_of, storage_at
from ray_gym.stream.asking import HostGone, await_answer, get_answer
from ray_gym.stream.calls import HostSetup, JoinedStream
from ray_gym.stream.cursor import Cursor, Progress
from ray_gym.stream.directory import TAKEOVER_S
from ray_gym.stream.group import Group, GroupReader
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.ranks import RankIsTaken, check_rank
from ray_gym.stream.shared_host import SharedHost
from ray_gym.stream.starting import join_cluster, say, start_host
from ray_gym.stream.stream import Stream
from ray_gym.weights.client import Weights

NAMESPACE = "ray_gym_streams"
"""Ray namespace of the hosts of shared streams."""
JOIN_S = 600.0
"""Seconds that a rank waits for rank 0 to begin the stream. How long the models then take does not count."""
LEAVE_S = 60.0
"""Seconds that rank 0, which is done, waits for the other ranks to leave the stream."""


class SharedStream(Stream):
    """A shared stream yields the groups of one rank. `open_stream` makes it, if it is given a rank and a world size.

    `acknowledge`, `advance` and `cursor` ask the host, and block for some milliseconds: once a rank has acknowledged, the
    cursor of every rank says so.
    """

    def __init__(
        self,
        config: str | Path,
        overrides: Sequence[str],
        options: StreamOptions,
        cursor: Any,
        version: int | None,
        rank: int = 0,
    ) -> None:
        check_rank(rank, options.world_size)
        super().__init__(config, overrides, options, cursor, version)
        self._rank = rank
        if rank != 0:
            self._versions = Versions()  # rank 0 says what they are
        name = str(self._config.run.name)
        self._place = child_of(output_root(self._config), name)

    @property
    def rank(self) -> int:
        """Returns the number of the rank, from 0."""
        return self._rank

    # ---- from start to end ----

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._rank == 0:
            await self._wait_for_others()
        await super().__aexit__(kind, error, trace)

    async def _open(self) -> None:
        if not ray.is_initialized():
            await asyncio.to_thread(cluster.check_running)  # one of its own would have no other ranks
        if self._rank == 0:
            await super()._open()
            return
        await join_cluster(self._started)
        self._engines = {}
        joined = await self._join()
        self._started.push_async_callback(self._leave)
        self.location = joined.location
        self._versions = joined.cursor.weights
        self._progress = Progress.at(joined.cursor)
        self._reader = GroupReader(storage_at(joined.location))

    async def _make_host(self, setup: HostSetup) -> Any:
        """Starts the host under the name of the stream, once that of a rank 0 which was killed has ended.

        Errors: UserError if another process has the stream.
        """
        deadline = time.monotonic() + TAKEOVER_S
        while True:
            try:
                return start_host(SharedHost, setup, name=self._place, namespace=NAMESPACE)
            except ValueError:
                if time.monotonic() > deadline:
                    raise UserError(
                        f"rank: another process is rank 0 of the stream {self._place}; give each process a rank of its own"
                    ) from None
                await asyncio.sleep(0.2)

    async def _join(self) -> JoinedStream:
        """Finds the host and joins it as this rank. A host that ends meanwhile was that of an earlier rank 0.

        Errors: UserError if this rank doesn't fit the stream; RunFailed if rank 0 does not begin in time.
        """
        begun = time.monotonic()
        while True:
            try:
                self._host = await asyncio.to_thread(ray.get_actor, self._place, NAMESPACE)
                joined: JoinedStream = await await_answer(
                    self._host.join.remote(self._rank, self._config, self._options), None
                )
                return joined
            except (ValueError, HostGone):
                if time.monotonic() - begun > JOIN_S:
                    raise RunFailed(
                        f"rank {self._rank}: no rank 0 has opened the stream {self._place} within {JOIN_S:g} s, on this "
                        f"cluster and with a world_size of {self._options.world_size}"
                    ) from None
            except RankIsTaken:
                if time.monotonic() - begun > TAKEOVER_S:
                    raise
            await asyncio.sleep(0.2)

    async def _wait_for_others(self) -> None:
        """Waits until the other ranks have left, up to LEAVE_S seconds: the host ends with rank 0."""
        self._cancel_delivery()
        try:
            await await_answer(self._host.wait_until_left.remote(), LEAVE_S)
        except RunFailed:
            say(f"rank 0 ends the stream, though other ranks have not left it within {LEAVE_S:g} s")

    async def _leave(self) -> None:
        """Leaves the stream, so that rank 0 does not wait for this rank."""
        self._cancel_delivery()
        try:
            await await_answer(self._host.leave.remote(self._rank))
        except HostGone:
            return  # rank 0 has ended before

    # ---- groups ----

    def acknowledge(self, *groups: Group) -> None:
        """Acknowledges groups of this rank (`Stream.acknowledge`), and blocks until the host has noted it.

        Errors: ValueError for a group that was acknowledged before, or never delivered to this rank; RunFailed.
        """
        self._progress.acknowledge(*(group.number for group in groups))
        self._progress.beyond.clear()  # the host keeps these
        get_answer(self._host.acknowledge.remote([group.number for group in groups], self._versions))

    @property
    def cursor(self) -> dict[str, Any]:
        """Returns the present cursor of all ranks as JSON values (`Stream.cursor`). Blocks. Errors: RunFailed.

        It is the same for each rank. After a barrier behind which all ranks have acknowledged, it has all of that.
        """
        cursor: Cursor = get_answer(self._host.cursor.remote(self._versions))
        return cursor.as_json()

    # ---- weights ----

    def weights(self, model: str) -> Weights:
        """Returns the `Weights` of a model (`Stream.weights`). Errors: UserError at another rank than 0."""
        self._require_owner("weights")
        return super().weights(model)

    def advance(self, version: int | Mapping[str, int]) -> None:
        """Tells the stream the version of the weights (`Stream.advance`), and blocks until the host has noted it: from
        then on the cursor of every rank has it. Errors: those of `Stream.advance`; UserError at another rank than 0.
        """
        self._require_owner("advance")
        super().advance(version)
        get_answer(self._host.advance.remote(self._versions))

    def _require_owner(self, method: str) -> None:
        if self._rank != 0:
            raise UserError(f"rank {self._rank}: stream.{method} is for rank 0, which owns the stream and its weights")
