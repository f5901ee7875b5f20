"""Workers whose processes come up while the driver still plans: half of the time to a first step is imports, on both sides."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ray

from ray_gym.config import RunConfig
from ray_gym.plugins import find_engine, find_environment
from ray_gym.run import cluster, worker
from ray_gym.run.driver import CALLS, make_worker
from ray_gym.run.nodes import Hello
from ray_gym.run.worker import WorkerSetup


class Worker(worker.Worker):
    """One that is told what it is after its process is up, which has the same title as others'."""

    def __init__(self, environment: str, engines: Iterable[str]) -> None:
        """Imports these. What is wrong with them is for those to say who need them."""
        with contextlib.suppress(Exception):
            find_environment(environment)
        for engine in engines:
            with contextlib.suppress(Exception):
                find_engine(engine, "")
        self._is_open = asyncio.Event()
        self._trouble: Exception | None = None

    def open(self, name: str, setup: WorkerSetup, concurrency: int) -> None:
        try:
            super().__init__(name, setup, concurrency)
        except Exception as error:
            self._trouble = error
        self._is_open.set()

    async def hello(self) -> Hello:
        """Errors: whatever a worker's constructor raises; as the worker's own."""
        await self._is_open.wait()  # Ray keeps no order between calls of such an actor
        if self._trouble is not None:
            raise self._trouble
        return await super().hello()


class EarlyWorkers:
    """Those that are on their way; who wants more makes them as always."""

    def __init__(self, actors: Sequence[Any]) -> None:
        self._actors = list(actors)

    def make(self, name: str, setup: WorkerSetup, concurrency: int, strategy: Any) -> Any:
        if not self._actors:
            return make_worker(name, setup, concurrency, strategy)
        actor = self._actors.pop(0)
        actor.open.remote(name, setup, concurrency)
        return actor

    def close(self) -> None:
        for actor in self._actors:
            ray.kill(actor)


@contextmanager
def coming_up(config: RunConfig) -> Iterator[EarlyWorkers]:
    """Where RAY_ADDRESS names a cluster, join it at once, and start workers there.

    Not where it has several nodes (which one a worker gets is decided once there is a plan), nor workers with CPUs of their own (which
    models may want first).
    """
    if os.environ.get("RAY_ADDRESS", "local") == "local":
        yield EarlyWorkers([])
        return
    with cluster.connected():
        is_only_node = sum(node["Alive"] for node in ray.nodes()) == 1
        engines = {model.engine for model in config.models.values()}
        make = ray.remote(Worker).options(num_cpus=0, max_concurrency=CALLS).remote
        count = config.fanout.workers if is_only_node and not config.fanout.cpus_per_worker else 0
        early = EarlyWorkers([make(config.environment.id, engines) for _ in range(count)])
        try:
            yield early
        finally:
            early.close()
