"""Mixes the groups of several streams, the sources, in shares that hold. They share their models.

    async with open_mixture({"guess.yaml": 0.7, "tic_tac_toe.yaml": 0.3}, cursor=saved) as mixture:
        async for group in mixture:
            ...                                # group.source: the `run.name` of its config
            mixture.acknowledge(group)
            save(checkpoint, mixture.cursor)

Each source is a stream with a directory, workers and a cursor of its own. Which source is next is decided by counts
alone (`ray_gym.stream.shares`), and the mixture waits for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import ray

from ray_gym.config.interpolations import errors_unfilled
from ray_gym.config.sections import FanoutSection
from ray_gym.errors import UserError
from ray_gym.installed.configs import find_config
from ray_gym.models.engine import Engine, EngineCheck
from ray_gym.models.versions import read_versions
from ray_gym.run.cluster import cluster
from ray_gym.run.plan import Plan, check_plan, request_of
from ray_gym.run.resume import load_config
from ray_gym.stream.group import Group
from ray_gym.stream.mixture_cursor import MixtureCursor
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.shares import Shares, options_of
from ray_gym.stream.starting import join_cluster, start_model
from ray_gym.stream.stream import Stream
from ray_gym.weights.client import Weights


class Source(Stream):
    """A source is a stream of a mixture, which starts the models for all of its sources."""

    @property
    def name(self) -> str:
        """Returns the name of the source, its `run.name`."""
        return str(self.config.run.name)

    @property
    def file(self) -> str:
        """Returns the path of the source's config, for messages."""
        return str(self._config_path)

    def plan(self, engines: dict[str, Engine]) -> Plan:
        """Makes the plan of the config with the engines of the mixture, to which it adds those that are missing.

        Errors: UserError for a mistake in the config.
        """
        with errors_unfilled(self.config.filled_in):
            for name, engine in self._plan_with(None).engines.items():
                engines.setdefault(name, engine)
            return check_plan(self._plan_with(engines.__getitem__), self.file)

    async def open_host(self, plan: Plan) -> None:
        """Opens the source's directory. Errors: UserError for a cursor or a config that does not fit; RunFailed."""
        await self._open_host(plan)

    async def start_model(self, blocking: ExitStack, engine: Engine, model: str) -> None:
        """Starts a model for this source's run. `blocking` stops it. Errors: UserError, RunFailed."""
        with errors_unfilled(self.config.filled_in):
            await start_model(blocking, engine, self.name, model, self._say_unfilled)

    async def start(self) -> None:
        """Begins to play, now that the models are up. Errors: UserError, RunFailed."""
        await self._start_host()

    async def __anext__(self) -> Group:
        return replace(await super().__anext__(), source=self.name)


class Mixture:
    """A mixture yields the groups of several sources to a trainer. `open_mixture` makes it.

    Use it on one event loop. Its methods raise UserError and RunFailed.
    """

    def __init__(
        self,
        shares: Mapping[str | Path, float],
        overrides: Sequence[str],
        options: StreamOptions,
        cursor: Any,
        version: int | None,
    ) -> None:
        """Takes the share of each source by its config; the rest is as for a `Stream`."""
        self._saved = None if cursor is None else MixtureCursor.parse(cursor)
        self._options = options
        configs = configs_by_name(shares, overrides)
        self._shares = Shares.of({name: shares[config] for name, config in configs.items()})
        cursors = self._saved.sources if self._saved is not None else {}
        self._sources = {
            name: Source(
                config,
                overrides,
                options_of(options, self._shares.wanted[name], len(configs)),
                cursors[name].as_json() if name in cursors else None,
                version,
            )
            for name, config in configs.items()
        }
        if self._saved is not None:
            self._saved.resume(self._shares)
        self._acknowledged = dict(self._shares.counts)
        self._started = AsyncExitStack()

    # ---- from start to end ----

    async def __aenter__(self) -> Mixture:
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
        """Starts the sources and their models. Everything that can be checked is checked before models are loaded."""
        plans, engines = plans_of(list(self._sources.values()))
        blocking = await join_cluster(self._started)
        check_cpus([source.config.fanout for source in self._sources.values()])
        await cluster.check_gpus_in_thread(engines, self._options.wait_s)
        for name, source in self._sources.items():
            self._started.push_async_callback(source.__aexit__, None, None, None)
            await source.open_host(plans[name])
        for model, engine in engines.items():
            first = next(source for name, source in self._sources.items() if model in plans[name].engines)
            await first.start_model(blocking, engine, model)
        for source in self._sources.values():
            await source.start()

    # ---- groups ----

    def __aiter__(self) -> AsyncIterator[Group]:
        return self

    async def __anext__(self) -> Group:
        """Waits for the next group of the source whose turn it is, and returns it.

        Errors: StopAsyncIteration if that source has no more groups; UserError, RunFailed.
        """
        name = self._shares.choose()
        group = await anext(self._sources[name])
        self._shares.count(name)
        return group

    def acknowledge(self, *groups: Group) -> None:
        """Acknowledges groups (`Stream.acknowledge`). Errors: ValueError for a group of no source, also."""
        of_sources: dict[str, list[Group]] = {}
        for group in groups:
            if group.source not in self._sources:
                raise ValueError(f"group {group.number} is of {group.source}, which is no source of this mixture")
            of_sources.setdefault(group.source, []).append(group)
        for name, given in of_sources.items():
            self._sources[name].require_out(given)
        for name, given in of_sources.items():
            self._sources[name].acknowledge(*given)
            self._acknowledged[name] += len(given)

    # ---- what it plays, and with which weights ----

    @property
    def sources(self) -> Mapping[str, Stream]:
        """Returns the streams that are mixed, by name."""
        return self._sources

    @property
    def version(self) -> int:
        """Returns the newest version of the weights that any source knows of (`Stream.version`)."""
        return max(source.version for source in self._sources.values())

    def weights(self, model: str) -> Weights:
        """Returns the `Weights` of a model (`Stream.weights`)."""
        having = (source for source in self._sources.values() if source.has_model(model))
        return next(having, next(iter(self._sources.values()))).weights(model)

    def advance(self, version: int | Mapping[str, int]) -> None:
        """Tells all sources the version of the weights, of all models or of those that a mapping names
        (`Stream.advance`).

        Errors: ValueError for an older one; UserError for a model that no source trains.
        """
        trained = {model for source in self._sources.values() for model in source.versions}
        given = read_versions(version, sorted(trained))
        for model, newer in given.items():
            if newer < (known := max(source.versions.get(model, 0) for source in self._sources.values())):
                raise ValueError(f"version {newer}, but the weights of {model} are at {known} already; versions grow")
        for source in self._sources.values():
            source.advance({model: newer for model, newer in given.items() if model in source.versions})

    # ---- places ----

    @property
    def cursor(self) -> dict[str, Any]:
        """Returns the present cursor as JSON values: those of the sources, and how many groups each has given."""
        mine = {name: source.cursor for name, source in self._sources.items()}
        others = self._saved.cursors_without(mine) if self._saved is not None else {}
        return {"sources": {**others, **mine}, "shares": self._shares.wanted, "acknowledged": dict(self._acknowledged)}

    async def remove_before(self, cursor: Any) -> int:
        """Deletes files of all sources from before a cursor, and returns their number (`Stream.remove_before`)."""
        places = MixtureCursor.parse(cursor).sources
        removed = [
            await source.remove_before(places[name].as_json())
            for name, source in self._sources.items()
            if name in places
        ]
        return sum(removed)

    # ---- evaluation and status ----

    async def evaluate(
        self, config: str | Path, overrides: Sequence[str] = (), *, name: str, first: bool = True
    ) -> dict[str, Any]:
        """Plays another config on the models of the first source that has all that it uses (`Stream.evaluate`).

        `first`: True holds back the groups of that source, not those of the others.
        """
        read = load_config(find_config(Path(config)), overrides)
        used = {participant.model for participant in read.participants.values()}
        able = (source for source in self._sources.values() if all(map(source.has_model, used)))
        source = next(able, next(iter(self._sources.values())))
        return await source.evaluate(config, overrides, name=name, first=first)

    async def status(self) -> dict[str, Any]:
        """Returns the numbers of each source by its name (`Stream.status`), with `share`, which it has of the groups that
        were delivered, and `wanted`, which it should have.
        """
        total = max(1, sum(self._shares.counts.values()))
        return {
            name: {
                **await source.status(),
                "share": self._shares.counts[name] / total,
                "wanted": self._shares.wanted[name],
            }
            for name, source in self._sources.items()
        }


def configs_by_name(configs: Iterable[str | Path], overrides: Sequence[str]) -> dict[str, str | Path]:
    """Returns configs by their `run.name`. Errors: UserError for one without a name, or with that of another."""
    found: dict[str, str | Path] = {}
    for config in configs:
        name = load_config(find_config(Path(config)), overrides).run.name
        if name is None:
            raise UserError(f"{config}: run.name: a source of a mixture needs one, under which its groups come")
        if name in found:
            raise UserError(
                f"{config}: run.name: {name} is that of {found[name]}, too; give each source one of its own"
            )
        found[name] = config
    return found


def plans_of(sources: Sequence[Source]) -> tuple[dict[str, Plan], dict[str, Engine]]:
    """Returns the plan of each source by its name, and the engines that they share by the names of the models.

    Each engine is checked for what all sources together ask of it. Errors: UserError for a mistake in a config, and for
    models of one name that are not the same.
    """
    engines: dict[str, Engine] = {}
    plans: dict[str, Plan] = {}
    for source in sources:
        plan = plans[source.name] = source.plan(engines)
        for other in sources[: sources.index(source)]:
            for model in plan.engines.keys() & plans[other.name].engines.keys():
                if source.config.models[model] != other.config.models[model]:
                    raise UserError(
                        f"{source.file}: models.{model}: it is another one than in {other.file}; make the sections equal, "
                        "or name it otherwise"
                    )
    for model, engine in engines.items():
        asked = {name: request_of(plan, model) for name, plan in plans.items() if model in plan.engines}
        samplings = {f"{who} of {name}": how for name, one in asked.items() for who, how in one.samplings.items()}
        episodes = sum(one.episodes or 0 for one in asked.values())
        uses_tools = any(one.uses_tools for one in asked.values())
        engine.check(EngineCheck(model, samplings, uses_tools, episodes, engines))
    return plans, engines


def check_cpus(fanouts: Sequence[FanoutSection]) -> None:
    """Checks that the cluster has the CPUs for the workers of all sources. Errors: UserError if not."""
    asked = sum(fanout.workers * fanout.cpus_per_worker for fanout in fanouts)
    there = ray.cluster_resources().get("CPU", 0)
    if asked > there:
        raise UserError(
            f"fanout: the workers of all sources ask for {asked:g} CPUs (workers, cpus_per_worker), but the cluster has {there:g}"
        )
