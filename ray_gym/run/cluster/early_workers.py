"""Workers whose processes come up while the driver still plans: half of the time to a first step is imports, on both sides."""

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
"""Of the node's CPUs: more processes at once would hold up the driver, and each other."""
ALONE_S = 2.0
"""How long those that come later wait for these to be up, at most."""


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
        """Errors: whatever a worker's constructor raises, which ends the run at once; as the worker's own."""
        await self._is_open.wait()  # Ray keeps no order between calls of such an actor
        if self._trouble is not None:
            raise self._trouble
        return await super().hello()


class EarlyWorkers:
    """Those that are on their way; who wants more makes them as always, but after these."""

    def __init__(self, actors: Sequence[Any] = (), node: str = "") -> None:
        """`node`: where they are."""
        self._actors = list(actors)
        self._node = node
        self._opening: list[Any] = []

    async def make(self, name: str, setup: WorkerSetup, concurrency: int, strategy: Any) -> Any:
        if self._actors and getattr(strategy, "node_id", None) == self._node:  # other nodes may have come meanwhile
            actor = self._actors.pop(0)
            self._opening.append(actor.open.remote(cloudpickle.dumps((name, setup, concurrency))))
            return actor
        if self._opening:
            await _over(self._opening, ALONE_S)
            self._opening = []
        return await make_worker(name, setup, concurrency, strategy)

    def close(self) -> None:
        for actor in self._actors:
            ray.kill(actor)


async def _over(calls: Sequence[Any], within_s: float) -> None:
    """Whatever became of them: who needs their workers finds out."""
    futures = [asyncio.wrap_future(call.future()) for call in calls]
    over, _ = await asyncio.wait(futures, timeout=within_s)
    for future in over:
        future.exception()


@contextmanager
def coming_up(config: RunConfig) -> Iterator[EarlyWorkers]:
    """Where a cluster is up, join it at once, and start workers there.

    Those that are not needed go when the block ends. Not where it has several nodes (which one a worker gets is decided once there is a
    plan), nor workers with CPUs of their own (which models may want first). Nor in a submitted job: once it has joined, Ray takes its code
    away where nodes share a session's folder.
    """
    if under_submitted_job() or not cluster.is_up():
        yield EarlyWorkers()
        return
    with cluster.connected():
        early = _made(config)
        try:
            yield early
        finally:
            early.close()


def _made(config: RunConfig) -> EarlyWorkers:
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    if config.fanout.cpus_per_worker or len(nodes) > 1:
        return EarlyWorkers()
    make = ray.remote(Worker).options(num_cpus=0, max_concurrency=CALLS).remote
    environment = module_path(ENVIRONMENT, config.environment.id)
    engines = {module_path(ENGINE, model.engine) for model in config.models.values()}
    count = max(1, int(ray.cluster_resources().get("CPU", 0) * SHARE))
    return EarlyWorkers([make(environment, engines) for _ in range(min(config.fanout.workers, count))], *nodes)
