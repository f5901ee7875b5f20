"""Starts processes for workers while the driver still plans: half of the time to a first step is imports, on both
sides.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ray
from ray import cloudpickle

from ray_gym.config.sections import RunConfig
from ray_gym.plugins import ENGINE, ENVIRONMENT, find_engine, find_environment, module_path
from ray_gym.run.cluster import cluster
from ray_gym.run.cluster.nodes import Hello
from ray_gym.run.directory.directory import under_submitted_job
from ray_gym.run.driver.driver import CALLS, make_worker
from ray_gym.run.worker import worker
from ray_gym.run.worker.worker import WorkerSetup

SHARE = 0.5
"""Share of the node's CPUs that get a worker early: more processes at once would hold up the driver, and each other."""
ALONE_S = 2.0
"""Seconds, at most, that workers made later wait for the early ones to be up."""


class Worker(worker.Worker):
    """Learns its name and setup only after its process is up. The process has the same title as that of other workers."""

    def __init__(self, environment: str, engines: Iterable[str]) -> None:
        """Imports the environment and the engines. Errors are left to the code that later needs them."""
        with contextlib.suppress(Exception):
            find_environment(environment)
        for engine in engines:
            with contextlib.suppress(Exception):
                find_engine(engine, "")
        self._is_open = asyncio.Event()
        self._trouble: Exception | None = None

    def open(self, arguments: bytes) -> None:
        """Makes this a worker of these arguments (those of a worker, pickled). An error is kept for `hello`, because
        Ray would tell an error in reading them only to the caller of this method.
        """
        try:
            super().__init__(*cloudpickle.loads(arguments))
        except Exception as error:
            self._trouble = error
        self._is_open.set()

    async def hello(self) -> Hello:
        """Sends the greeting of a worker. Errors: those of a worker's constructor, which end the run at once; those of
        a worker's own `hello`.
        """
        await self._is_open.wait()  # Ray keeps no order between calls of such an actor
        if self._trouble is not None:
            raise self._trouble
        return await super().hello()


class EarlyWorkers:
    """Holds the workers that are coming up; when none is left, `make` makes new ones as always, but only after these
    are up.
    """

    def __init__(self, actors: Sequence[Any] = (), node: str = "") -> None:
        """Takes the actors that are on the node with the id `node`."""
        self._actors = list(actors)
        self._node = node
        self._opening: list[Any] = []

    async def make(self, name: str, setup: WorkerSetup, concurrency: int, strategy: Any) -> Any:
        if self._actors and getattr(strategy, "node_id", None) == self._node:  # other nodes may have come meanwhile
            actor = self._actors.pop(0)
            self._opening.append(actor.open.remote(cloudpickle.dumps((name, setup, concurrency))))
            return actor
        if self._opening:
            await _wait_until_over(self._opening, ALONE_S)
            self._opening = []
        return await make_worker(name, setup, concurrency, strategy)

    def close(self) -> None:
        for actor in self._actors:
            ray.kill(actor)


async def _wait_until_over(calls: Sequence[Any], within_s: float) -> None:
    """Waits until the calls have ended, for `within_s` seconds at most. Their errors are dropped: they reach the users
    of the workers anyway.
    """
    futures = [asyncio.wrap_future(call.future()) for call in calls]
    over, _ = await asyncio.wait(futures, timeout=within_s)
    for future in over:
        future.exception()


@contextmanager
def start_early_workers(config: RunConfig) -> Iterator[EarlyWorkers]:
    """Joins the cluster that is up, if there is one, and starts workers there at once.

    Workers that were not needed are ended with the block. None are started where the cluster has several nodes (a
    worker's node is chosen once there is a plan), where workers have CPUs of their own (which models may want first),
    or in a submitted job: once it has joined, Ray takes its code away where nodes share a session's folder.
    """
    if under_submitted_job() or not cluster.is_up():
        yield EarlyWorkers()
        return
    with cluster.connected():
        early = _make_early_workers(config)
        try:
            yield early
        finally:
            early.close()


def _make_early_workers(config: RunConfig) -> EarlyWorkers:
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    if config.fanout.cpus_per_worker or len(nodes) > 1:
        return EarlyWorkers()
    make = ray.remote(Worker).options(num_cpus=0, max_concurrency=CALLS).remote
    environment = module_path(ENVIRONMENT, config.environment.id)
    engines = {module_path(ENGINE, model.engine) for model in config.models.values()}
    count = max(1, int(ray.cluster_resources().get("CPU", 0) * SHARE))
    return EarlyWorkers([make(environment, engines) for _ in range(min(config.fanout.workers, count))], *nodes)
