"""Defines the trainer's side of a stream: it receives groups, and sends acknowledgements and versions of the weights.

The other side is the `Host`, a Ray actor. The trainer maps the files with the groups' rows into its memory.

async with open_stream("config.yaml", cursor=saved, max_staleness=1, groups_per_version=8) as stream:
    async for group in stream:
        ...                                    # group.episodes, group.samples: Arrow tables
        await asyncio.to_thread(stream.weights("policy").update, step, checkpoint)
        stream.acknowledge(group)              # the weights were trained on it
        save(checkpoint, stream.cursor)        # as JSON
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import ray

from ray_gym.config.interpolations import errors_unfilled, unfilled
from ray_gym.config.sections import RunConfig
from ray_gym.errors import RunFailed, UserError
from ray_gym.installed.configs import find_config
from ray_gym.models.engine import Engine, OnAnother, Served, line_of
from ray_gym.models.versions import Versions, read_versions
from ray_gym.paths import absolute_path
from ray_gym.run.cluster import cluster
from ray_gym.run.directory.location import storage_at
from ray_gym.run.plan import Plan, check_plan
from ray_gym.run.resume import load_config
from ray_gym.stream.asking import await_answer
from ray_gym.stream.calls import Delivery, HostSetup, OpenedStream
from ray_gym.stream.cursor import Cursor, Progress
from ray_gym.stream.group import Group, GroupReader
from ray_gym.stream.host import Host
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.starting import join_cluster, say, start_host, start_model
from ray_gym.weights.client import Weights

STUCK_S = 60.0
"""Seconds without a group after which a line says, once, that the stream waits for the trainer, and another, each time,
which workers take long to start. An evaluation's workers are told likewise."""
FIRST_STUCK_S = 25.0
"""Seconds without a group after which these workers are told for the first time."""
OPEN_S = 600.0
"""Seconds that the host may take to read the tasks and the files that an earlier host left."""
CLOSE_S = 60.0
"""Seconds that the host may take to stop."""


class Stream:
    """A stream yields finished groups to a trainer. `open_stream` makes it.

    Use it on one event loop. Its methods raise UserError and RunFailed.
    """

    def __init__(
        self, config: str | Path, overrides: Sequence[str], options: StreamOptions, cursor: Any, version: int | None
    ) -> None:
        self._config_path = find_config(Path(config))
        self._overrides = overrides
        self._options = options
        self._saved = None if cursor is None else Cursor.parse(cursor)
        self._versions = Versions(version or 0) if self._saved is None or version is not None else self._saved.weights
        self._version_given = version is not None
        self._config = load_config(self._config_path, overrides)
        options.check(self._config)
        self._rank = 0
        self._delivery_task: asyncio.Task[Delivery] | None = None
        self._sent: list[Any] = []
        """References of the calls to the host whose results were not checked yet."""
        self._told = True
        """False if nobody has said which version a trained model serves that does not tell it."""
        self._started = AsyncExitStack()

    # ---- from start to end ----

    async def __aenter__(self) -> Stream:
        try:
            with errors_unfilled(self._config.filled_in):
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
        """Starts the host and the models. Everything that can be checked is checked before the models are loaded."""
        plan = check_plan(self._plan_with(None), str(self._config_path))
        blocking = await join_cluster(self._started)
        await asyncio.to_thread(cluster.check_cpus, self._config.fanout.workers, self._config.fanout.cpus_per_worker)
        await cluster.check_gpus_in_thread(plan.engines, self._options.wait_s)
        name = await self._open_host(plan)
        for model, engine in plan.engines.items():
            await start_model(blocking, engine, name, model, self._say_unfilled)
        await self._start_host()

    def _plan_with(self, engines: Callable[[str], Engine] | None) -> Plan:
        """Makes the plan of the config, with the engines that a function returns by name; None makes new ones."""
        return Plan.of(self._config, str(self._config_path), engines=engines)

    async def _open_host(self, plan: Plan) -> str:
        """Starts the host, which opens the stream's directory, and returns the name of the stream's run. It says the notes of
        the plan.
        """
        for note in plan.notes:
            self._say_unfilled(f"note: {note}")
        tells = all(plan.engines[name].tells_versions for name in plan.trained if plan.engines[name].gives_tokens)
        self._told = tells or self._version_given or (self._saved is not None and self._saved.told)
        if self._options.max_staleness is not None and not self._told:
            _require_versions(plan)
        self._engines = plan.engines
        self._versions = self._versions.merge({model: self._versions[model] for model in plan.trained})
        setup = HostSetup(
            self._config, absolute_path(self._config_path), self._engines, self._options, self._saved, self._versions
        )
        self._host = await self._make_host(setup)
        self._started.push_async_callback(self._end_host)
        opened: OpenedStream = await await_answer(self._host.open.remote(), OPEN_S)
        self._opened = opened
        return opened.name

    async def _start_host(self) -> None:
        """Lets the host play, now that the models are up."""
        opened = self._opened
        self._begin_at(await await_answer(self._host.start.remote(self._engines), OPEN_S))
        self.location = opened.location
        self._progress = Progress.at(opened.cursor)
        self._progress.settle(opened.dropped, opened.flat)
        self._reader = GroupReader(storage_at(opened.location))

    def _say_unfilled(self, text: str) -> None:
        say(unfilled(text, self._config.filled_in))

    def _begin_at(self, served: Mapping[str, int]) -> None:
        """Raises the stream's versions of the weights to the `served` versions that are higher.

        `served`: version that each trained model serves, by the model's name. Errors: UserError if a model serves an
        older version than it had at the cursor, unless the stream was opened with a version.
        """
        for model, version in served.items():
            taken = self._versions[model]
            if not self._version_given and version < taken:
                weights = "adapter=FOLDER" if isinstance(self._engines[model], OnAnother) else "model=CHECKPOINT"
                raise UserError(
                    f"models.{model}: it serves version {version}, and the cursor was taken at {taken}; open the stream with "
                    f"models.{model}.{weights} and models.{model}.weights_version={taken}"
                )
        self._versions = self._versions.merge(served)

    async def _make_host(self, setup: HostSetup) -> Any:
        return start_host(Host, setup)

    def _cancel_delivery(self) -> None:
        if self._delivery_task is not None:
            self._delivery_task.cancel()

    async def _end_host(self) -> None:
        """Closes and kills the host. An error is printed."""
        self._cancel_delivery()
        try:
            await await_answer(self._host.close.remote(), CLOSE_S)
        except RunFailed as error:
            say(f"the stream was not closed: {error}")  # its groups are on disk
        finally:
            ray.kill(self._host)

    # ---- groups ----

    def __aiter__(self) -> AsyncIterator[Group]:
        return self

    async def __anext__(self) -> Group:
        """Waits for the next group, and returns it. Groups that have become too old on their way are left out.

        After a restart, the group comes again unless it is settled at the cursor.
        Errors: StopAsyncIteration if there are no more groups; UserError, RunFailed.
        """
        while True:
            await self._check_sent()
            delivery = await self._next_delivery()
            self._progress.settle(delivery.dropped, delivery.flat)
            self._versions = self._versions.merge(delivery.versions)
            found = delivery.group
            if found is None:
                raise StopAsyncIteration
            self._progress.note_delivered(found.number, found.commit)
            if self._options.reason_to_drop(found, self._versions) is not None:
                self._progress.acknowledge(found.number)  # the group has become too old on its way
                await await_answer(self._host.refuse.remote(found.number, self._versions))
                continue
            group = await asyncio.to_thread(self._reader.read_group, found)
            if self._options.stale == "withhold":
                group = replace(group, oldest_kept=self._options.oldest_kept(self._versions))
            return group

    def acknowledge(self, *groups: Group) -> None:
        """Acknowledges groups: the trainer does not need them any more.

        No later cursor brings them again, and other groups may begin in their place. Errors: ValueError for a group
        that was acknowledged before, or never delivered; then none of them is.
        """
        self._progress.acknowledge(*(group.number for group in groups))
        self._send(self._host.acknowledge.remote([group.number for group in groups], self._versions))

    def require_out(self, groups: Sequence[Group]) -> None:
        """Checks that groups can be acknowledged. Errors: ValueError for one that can't."""
        self._progress.require_out([group.number for group in groups])

    # ---- what it plays ----

    @property
    def config(self) -> RunConfig:
        """Returns the config that the stream plays, with its overrides."""
        return self._config

    @property
    def options(self) -> StreamOptions:
        """Returns the options that the stream was opened with."""
        return self._options

    # ---- weights ----

    @property
    def version(self) -> int:
        """Returns the newest version of the weights that the trainer has given, or that came with a group: the lowest
        of `versions`.

        At first it is the higher of two: the version given to `open_stream` (else the cursor's), and the version that a
        trained model serves.
        """
        return self._versions.lowest

    @property
    def versions(self) -> dict[str, int]:
        """Returns the version of the weights of each trained model, by its name."""
        return dict(self._versions.of)

    def has_model(self, model: str) -> bool:
        """Says whether a model of this name is up for the stream."""
        return model in self._engines

    def weights(self, model: str) -> Weights:
        """Returns a `Weights` object, which changes the weights of a model. `model`: name in the config. Blocks.

        The stream notices the changes. Errors: UserError for an unknown model, and for one whose weights can't be
        changed from here.
        """
        engine = self._engines.get(model)
        if engine is None:
            raise UserError(f"models.{model}: the stream has no such model up; it has {', '.join(self._engines)}")
        if not isinstance(engine, Served):
            raise UserError(
                f"models.{model}: its weights can't be changed from here (engine: vllm); `advance` tells of it"
            )
        return Weights(engine.app, line_of(engine))

    def advance(self, version: int | Mapping[str, int]) -> None:
        """Tells the stream that the models now generate with the weights of this version: all of them, or those that a
        mapping names, each with its own.

        Call it for models whose weights `ray_gym.Weights` does not change. Errors: ValueError for an older version;
        UserError for a model that is not trained.
        """
        given = read_versions(version, self._versions.of)
        for model, newer in given.items():
            if newer < self._versions[model]:
                raise ValueError(
                    f"version {newer}, but the weights of {model} are at {self._versions[model]} already; versions grow"
                )
        self._told = True
        if (advanced := self._versions.merge(given)) != self._versions:
            self._versions = advanced
            self._send(self._host.advance.remote(advanced))

    # ---- places ----

    @property
    def cursor(self) -> dict[str, Any]:
        """Returns the present cursor as JSON values, to be saved with the trainer's checkpoint.

        A stream that is opened with it delivers all groups but those that were acknowledged, or dropped, until now.
        """
        return self._progress.cursor(self._versions).model_copy(update={"told": self._told}).as_json()

    async def remove_before(self, cursor: Any) -> int:
        """Deletes the files whose groups are all acknowledged or dropped at a cursor, and returns the number of files.

        No older cursor can be used afterwards, so this one has to be saved in a checkpoint before. Errors: UserError
        for a wrong cursor; RunFailed.
        """
        removed: int = await await_answer(self._host.remove_before.remote(Cursor.parse(cursor)), OPEN_S)
        return removed

    # ---- evaluation and status ----

    async def evaluate(
        self, config: str | Path, overrides: Sequence[str] = (), *, name: str, first: bool = True
    ) -> dict[str, Any]:
        """Plays another config on the stream's models as a run of its own under `name`.

        Returns the run's summary with its location. `first`: True lets no group of the stream begin while an episode of
        the evaluation waits for a worker. An interrupted evaluation of the same name is resumed. Errors: UserError for
        a mistake in the config; RunFailed, also if the stream is closed meanwhile.
        """
        path, named = find_config(Path(config)), [*overrides, f"run.name={name}"]
        read = await asyncio.to_thread(lambda: load_config(path, named))
        telling = asyncio.create_task(self._tell_evaluation_troubles())
        try:
            answer = self._host.evaluate.remote(read, absolute_path(path), first)
            summary: dict[str, Any] = await await_answer(answer, None)
            return summary
        finally:
            telling.cancel()

    async def status(self) -> dict[str, Any]:
        """Returns the stream's numbers by name: `version`, that of the weights; groups by state (`begun`, `playing`,
        `open`, `ahead`, `waiting`, `out`, `delivered`, `acknowledged`, `stale`, `small`, `flat`); and the bounds
        `max_open` and `max_ahead`. `flat` groups were dropped for want of spread.

        `waiting` groups are finished; those `out` are delivered and not acknowledged. `stalest`: most versions that a
        delivered group was behind. `held_for`: evaluation episodes for which no group begins.
        `surplus`: episodes that were cut off, since their groups had enough others. Errors: RunFailed.
        """
        await self._check_sent()  # what was said to the host before is counted
        counts: dict[str, Any] = await await_answer(self._host.status.remote())
        return counts

    # ---- calls to the host ----

    async def _next_delivery(self) -> Delivery:
        """Asks the host for the next delivery and waits for it.

        If the wait is cancelled, the next call waits for the same delivery, so that no group is lost.
        """
        if self._delivery_task is None:
            self._delivery_task = asyncio.create_task(
                await_answer(self._host.next.remote(self._versions, self._rank), None)
            )
        done, _ = await asyncio.wait({self._delivery_task}, timeout=FIRST_STUCK_S)
        if not done:
            await self._tell_troubles()
            done, _ = await asyncio.wait({self._delivery_task}, timeout=STUCK_S - FIRST_STUCK_S)
        if not done:
            await self._explain_wait()
        while not done:
            await self._tell_troubles()
            done, _ = await asyncio.wait({self._delivery_task}, timeout=STUCK_S)
        task, self._delivery_task = self._delivery_task, None
        return task.result()

    async def _explain_wait(self) -> None:
        """Prints that the stream waits for the trainer, if it does. Errors: RunFailed if the host does not answer."""
        counts = await self.status()
        if counts["open"] >= counts["max_open"] or (counts["max_ahead"] and counts["ahead"] >= counts["max_ahead"]):
            say(f"the stream waits for its trainer to acknowledge groups or to advance the version: {counts}")

    async def _tell_troubles(self) -> None:
        """Prints what is wrong with workers, if anything is: the host's own log is not on this terminal. Errors: RunFailed
        if the host does not answer.
        """
        if told := await await_answer(self._host.troubles.remote()):
            say(told)

    async def _tell_evaluation_troubles(self) -> None:
        """Prints, every STUCK_S seconds until it is cancelled, what is wrong with workers of evaluations."""
        with suppress(RunFailed):  # which the evaluation itself raises
            while True:
                await asyncio.sleep(STUCK_S)
                if told := await await_answer(self._host.evaluation_troubles.remote()):
                    say(told)

    def _send(self, reference: Any) -> None:
        """Keeps the reference of a call to the host, whose result is checked before the next group."""
        self._sent.append(reference)

    async def _check_sent(self) -> None:
        """Waits for the results of earlier calls to the host. Errors: RunFailed if one of them failed."""
        sent, self._sent = self._sent, []
        for reference in sent:
            await await_answer(reference)


def _require_versions(plan: Plan) -> None:
    """Checks that the trained models tell the versions of their weights. Errors: UserError for one that does not."""
    for name in plan.trained:
        engine = plan.engines[name]
        if engine.gives_tokens and not engine.tells_versions:
            raise UserError(
                f"models.{name}: it does not tell the version of its weights, so nobody knows how stale its tokens are "
                "(max_staleness); give open_stream the version that it serves now (version=0), and call stream.advance(version) "
                "after each update"
            )
