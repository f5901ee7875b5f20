"""Workers whose processes come up while the driver still plans: half of the time to a first step is imports, on both sides."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ray
from ray import cloudpickle

from ray_gym.config import RunConfig
from ray_gym.plugins import find_engine, find_environment
from ray_gym.run import cluster, worker
from ray_gym.run.directory import under_submitted_job
from ray_gym.run.driver import CALLS, make_worker
from ray_gym.run.nodes import Hello
from ray_gym.run.worker import WorkerSetup

SHARE = 0.5
"""Of the node's CPUs: more processes at once would hold up the driver, and each other."""


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

    def open(self, arguments: bytes) -> None:
        """A worker's, pickled: of an error in reading them Ray itself would tell only who waits for this call."""
        try:
            super().__init__(*cloudpickle.loads(arguments))
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
        actor.open.remote(cloudpickle.dumps((name, setup, concurrency)))
        return actor

    def close(self) -> None:
        for actor in self._actors:
            ray.kill(actor)


@contextmanager
def coming_up(config: RunConfig) -> Iterator[EarlyWorkers]:
    """Where a cluster is up, join it at once, and start workers there.

    Not where it has several nodes (which one a worker gets is decided once there is a plan), nor workers with CPUs of their own (which
    models may want first). Nor in a submitted job: once it has joined, Ray takes its code away where nodes share a session's folder.
    """
    if under_submitted_job() or not cluster.is_up():
        yield EarlyWorkers([])
        return
    with cluster.connected():
        early = EarlyWorkers(_made(config))
        try:
            yield early
        finally:
            early.close()


def _made(config: RunConfig) -> list[Any]:
    if config.fanout.cpus_per_worker or sum(node["Alive"] for node in ray.nodes()) > 1:
        return []
    make = ray.remote(Worker).options(num_cpus=0, max_concurrency=CALLS).remote
    engines = {model.engine for model in config.models.values()}
    count = max(1, int(ray.cluster_resources().get("CPU", 0) * SHARE))
    return [make(config.environment.id, engines) for _ in range(min(config.fanout.workers, count))]
