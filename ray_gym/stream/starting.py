"""Starts what a stream is made of: the connection to the cluster, the models, and the host."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ray_gym.hosting.application import Application
from ray_gym.models.engine import Engine
from ray_gym.printable import printable
from ray_gym.run.cluster import cluster
from ray_gym.stream.calls import HostSetup
from ray_gym.stream.host import Host

CALLS = 64
"""Most calls that the host answers at once. Most of them wait for evaluations."""


async def join_cluster(started: AsyncExitStack) -> ExitStack:
    """Joins the Ray cluster, unless this process has. Returns a stack for what blocks when it ends, which `started`
    closes in a thread."""
    blocking = ExitStack()
    started.push_async_callback(asyncio.to_thread, blocking.close)
    if not ray.is_initialized():
        await asyncio.to_thread(blocking.enter_context, cluster.connect())
    return blocking


async def start_model(blocking: ExitStack, engine: Engine, run: str, model: str, say: Callable[[str], None]) -> None:
    """Starts a model for a run, with the weights of its config. `blocking` stops it.

    Errors: UserError for mistakes in the config; RunFailed if it does not come up.
    """
    blocking.callback(engine.stop)
    await asyncio.to_thread(Application().delete_if_changed, run, model)
    await asyncio.to_thread(engine.start, run, model, say)


def start_host(kind: type[Host], setup: HostSetup, **options: Any) -> Any:
    """Starts a host as a Ray actor on the trainer's node. It ends with the trainer's process.

    `options`: further options of the actor. Errors: ValueError if an actor has its name already.
    """
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    placed = {"num_cpus": 0, "max_concurrency": CALLS, "scheduling_strategy": here, **options}
    return ray.remote(kind).options(**placed).remote(setup)


def say(text: str) -> None:
    """Shows a line to the user on stderr."""
    print(printable(text), file=sys.stderr, flush=True)
