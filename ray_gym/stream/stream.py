"""Gives a trainer its end of a stream: groups come in, acknowledgements and versions go out.

There is no HTTP between them: the other end is an actor, and the files of rows are mapped into memory.

async with open_stream("config.yaml", cursor=saved, max_staleness=1, groups_per_version=8) as stream:
    async for group in stream:
        ...                                    # group.episodes, group.samples: Arrow tables
        await asyncio.to_thread(stream.weights("policy").update, step, checkpoint)
        stream.acknowledge(group)              # it is in them
        save(checkpoint, stream.cursor)        # as JSON
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ray_gym.config.file import read_config
from ray_gym.errors import RunFailed, UserError, describe
from ray_gym.hosting.application import Application
from ray_gym.installed.configs import find_config
from ray_gym.models.engine import Served
from ray_gym.run.cluster import cluster
from ray_gym.run.directory.location import storage_at
from ray_gym.run.plan import Plan, check_plan
from ray_gym.run.resume import with_absolute_path
from ray_gym.stream.cursor import Cursor, Progress
from ray_gym.stream.group import Files, Group
from ray_gym.stream.host import Delivery, Host, HostSetup, OpenedStream
from ray_gym.stream.options import StreamOptions
from ray_gym.weights.client import Weights

STUCK_S = 60.0
"""Seconds without a group after which the reason is printed, once, if the trainer itself holds the stream back."""
OPEN_S = 600.0
"""Seconds that the host may take to read the tasks and the files that an earlier host left."""
CLOSE_S = 60.0
ANSWER_S = 60.0
CALLS = 64
"""Most calls to the host at once. Most of them are evaluations."""


class Stream:
    """A stream yields finished groups to a trainer.

    Use it on one event loop. Its methods raise UserError and RunFailed.
    """

    def __init__(
        self, config: str | Path, overrides: Sequence[str], options: StreamOptions, cursor: Any, version: int | None
    ) -> None:
        self._config_path = find_config(Path(config))
        self._overrides = overrides
        self._options = options
        self._saved = None if cursor is None else Cursor.parse(cursor)
        self._version = version if version is not None else self._saved.version if self._saved else 0
        self._version_given = version is not None
        self._config = with_absolute_path(read_config(self._config_path, overrides), self._config_path)
        options.check(self._config)
        self._asked: asyncio.Task[Delivery] | None = None
        self._told: list[Any] = []
        """References of the calls to the host whose results were not looked at yet."""
        self._started = AsyncExitStack()

    # ---- from start to end ----

    async def __aenter__(self) -> Stream:
        try:
            await self._open()
        except BaseException:
            await self._started.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._started.aclose()

    async def _open(self) -> None:
        """Starts the host and the models. All that can be checked is checked before the models are loaded."""
        file = str(self._config_path)
        engines = check_plan(Plan.of(self._config, file), file).engines
        blocking = ExitStack()  # holds the parts that block when they start and stop
        self._started.push_async_callback(asyncio.to_thread, blocking.close)
        if not ray.is_initialized():
            await asyncio.to_thread(blocking.enter_context, cluster.connect())
        await asyncio.to_thread(cluster.check_cpus, self._config.fanout.workers, self._config.fanout.cpus_per_worker)
        await cluster.check_gpus_meanwhile(engines, self._options.wait_s)
        setup = HostSetup(
            self._config, self._config_path.absolute(), engines, self._options, self._saved, self._version
        )
        self._host = _make_host(setup)
        self._started.push_async_callback(self._end_host)
        opened: OpenedStream = await _answer(self._host.open.remote(), OPEN_S)
        for name, engine in engines.items():
            blocking.callback(engine.stop)
            await asyncio.to_thread(Application().delete_if_changed, opened.name, name)
            await asyncio.to_thread(engine.start, opened.name, name, _say)
        self._take_up(await _answer(self._host.start.remote(engines), OPEN_S))
        self._engines = engines
        self.location = opened.location
        self._progress = Progress.at(opened.cursor)
        self._progress.settle(opened.dropped)
        self._files = Files(storage_at(opened.location))

    def _take_up(self, served: Mapping[str, int]) -> None:
        """Takes over the version of the weights with which the trainer's models begin.

        Errors: UserError for weights older than those at the cursor.
        """
        for model, version in served.items():
            if not self._version_given and version < self._version:
                raise UserError(
                    f"models.{model}: it serves version {version}, and the cursor was taken at {self._version}; open the stream with "
                    f"models.{model}.model=CHECKPOINT and models.{model}.weights_version={self._version}"
                )
        self._version = max(self._version, min(served.values(), default=0))

    async def _end_host(self) -> None:
        if self._asked is not None:
            self._asked.cancel()
        try:
            await _answer(self._host.close.remote(), CLOSE_S)
        except RunFailed as error:
            _say(f"the stream was not closed: {error}")  # its groups are on disk
        finally:
            ray.kill(self._host)

    # ---- groups ----

    def __aiter__(self) -> AsyncIterator[Group]:
        return self

    async def __anext__(self) -> Group:
        """Waits for the next group. It comes again after a restart, unless it was acknowledged at the cursor."""
        while True:
            await self._hear()
            delivery = await self._delivery()
            self._progress.settle(delivery.dropped)
            self._version = max(self._version, delivery.version)
            found = delivery.group
            if found is None:
                raise StopAsyncIteration
            self._progress.note_delivered(found.number, found.commit)
            if self._options.wrong_with(found.completed, found.version, self._version) is not None:
                self._progress.acknowledge(found.number)  # it grew too old on its way here
                await _answer(self._host.refuse.remote(found.number, self._version))
                continue
            return await asyncio.to_thread(self._files.group, found)

    def acknowledge(self, *groups: Group) -> None:
        """Tells the stream that the trainer is done with these groups: the cursor passes them, and others may begin.

        Errors: ValueError for a group that was acknowledged already, or never delivered.
        """
        for group in groups:
            self._progress.acknowledge(group.number)
        self._tell(self._host.acknowledge.remote([group.number for group in groups], self._version))

    # ---- weights ----

    @property
    def version(self) -> int:
        """Returns the newest version of the weights that was told here, or that a group came with."""
        return self._version

    def weights(self, model: str) -> Weights:
        """Returns the weights of a model of the config, to change them; the stream notices. Blocks.

        Errors: UserError if they can't be changed.
        """
        engine = self._engines.get(model)
        if engine is None:
            raise UserError(f"models.{model}: the stream has no such model up; it has {', '.join(self._engines)}")
        if not isinstance(engine, Served):
            raise UserError(
                f"models.{model}: its weights can't be changed from here (engine: vllm); `advance` tells of it"
            )
        return Weights(engine.app)

    def advance(self, version: int) -> None:
        """Tells the stream that from now on the models generate with the weights of this version.

        It is for models whose weights are not changed by `ray_gym.Weights`. Errors: ValueError for an older version.
        """
        if version < self._version:
            raise ValueError(f"version {version}, but the weights are at {self._version} already; versions grow")
        if version > self._version:
            self._version = version
            self._tell(self._host.advance.remote(version))

    # ---- places ----

    @property
    def cursor(self) -> dict[str, Any]:
        """Returns the cursor as JSON values, to be saved with the trainer's checkpoint.

        Groups that were acknowledged until now never come again from it, and all others do.
        """
        return self._progress.cursor(self._version).as_json()

    async def remove_before(self, cursor: Any) -> int:
        """Deletes the files that only hold groups from before a cursor, and returns their number.

        The cursor must be safe in a checkpoint.
        """
        removed: int = await _answer(self._host.remove_before.remote(Cursor.parse(cursor)), OPEN_S)
        return removed

    # ---- beside it ----

    async def evaluate(
        self, config: str | Path, overrides: Sequence[str] = (), *, name: str, first: bool = True
    ) -> dict[str, Any]:
        """Plays another config on the stream's models as a run of its own under `name`.

        Returns the run's summary with its location. `first`: no group of the stream begins while an episode of the
        evaluation waits for a worker.
        """
        path, named = find_config(Path(config)), [*overrides, f"run.name={name}"]
        read = await asyncio.to_thread(lambda: with_absolute_path(read_config(path, named), path))
        summary: dict[str, Any] = await _answer(self._host.evaluate.remote(read, path, first), None)
        return summary

    async def status(self) -> dict[str, Any]:
        """Returns the numbers of groups (begun, playing, waiting, out, delivered, acknowledged, stale, small, ...) by
        name.

        Waiting ones are finished, and those out are delivered and not acknowledged. The bounds `max_open` and
        `max_ahead` are there, too, and `stalest`, the most versions that a delivered group was behind.
        """
        counts: dict[str, Any] = await _answer(self._host.status.remote())
        return counts

    # ---- the wire ----

    async def _delivery(self) -> Delivery:
        """Asks the host for a delivery, or waits for the one asked for before.

        So no group is lost if the caller is cancelled while it waits.
        """
        if self._asked is None:
            self._asked = asyncio.create_task(_answer(self._host.next.remote(self._version), None))
        done, _ = await asyncio.wait({self._asked}, timeout=STUCK_S)
        if not done:
            await self._say_why()
            await asyncio.wait({self._asked})
        asked, self._asked = self._asked, None
        return asked.result()

    async def _say_why(self) -> None:
        counts = await self.status()
        if counts["open"] >= counts["max_open"] or (counts["max_ahead"] and counts["ahead"] >= counts["max_ahead"]):
            _say(f"the stream waits for its trainer to acknowledge groups or to advance the version: {counts}")

    def _tell(self, reference: Any) -> None:
        self._told.append(reference)

    async def _hear(self) -> None:
        """Waits for the results of the calls that told the host something. Errors: RunFailed if one failed."""
        told, self._told = self._told, []
        for reference in told:
            await _answer(reference)


def open_stream(
    config: str | Path,
    overrides: Sequence[str] = (),
    *,
    cursor: Any = None,
    version: int | None = None,
    max_staleness: int | None = None,
    groups_per_version: int | None = None,
    min_group_size: int = 1,
    max_open_groups: int | None = None,
    epochs: int | None = None,
    wait_s: float | None = None,
) -> Stream:
    """Returns a stream of the groups that a config plays, for `async with`. It has no end unless `epochs` gives one.

    `cursor` is the value of `stream.cursor` that was saved with the checkpoint to resume from; None means the start.
    `version` is that of the weights now; the default is the cursor's. `StreamOptions` describes the rest. Errors:
    UserError.
    """
    options = StreamOptions(max_staleness, groups_per_version, min_group_size, max_open_groups, epochs, wait_s)
    return Stream(config, overrides, options, cursor, version)


def _make_host(setup: HostSetup) -> Any:
    """Starts the host as an actor on the trainer's node. It ends with the trainer's process."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options = {"num_cpus": 0, "max_concurrency": CALLS, "scheduling_strategy": here}
    return ray.remote(Host).options(**options).remote(setup)


async def _answer(reference: Any, within_s: float | None = ANSWER_S) -> Any:
    """Waits for the host's answer to a call.

    Errors: UserError and RunFailed as the host raised them; RunFailed if it is gone, or does not answer.
    """
    try:
        async with asyncio.timeout(within_s):
            return await reference
    except RayTaskError as error:
        if isinstance(error.cause, UserError | RunFailed):
            raise error.cause from None
        raise RunFailed(f"the stream's host failed: {describe(error.cause or error)}") from error
    except RayActorError as error:
        raise RunFailed(f"the stream's host is gone; open the stream again at its last cursor: {error}") from None
    except TimeoutError:
        raise RunFailed(f"the stream's host did not answer for {within_s} s") from None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
