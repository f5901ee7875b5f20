"""Makes the follower of a Serve replica, which carries out updates of its weights."""

from __future__ import annotations

import asyncio

import ray
from ray import serve
from ray.serve.exceptions import RayServeException

from ray_gym.weights.follower import Follower, WeightsHost
from ray_gym.weights.holder import find_holder
from ray_gym.weights.orders import Admitted, CatchUp, Order, ReplicaReport, Wait


def served_app() -> str:
    """Returns the name of the Serve application that this process is a replica of; "" if it is none."""
    try:
        return str(serve.get_replica_context().app_name)
    except RayServeException:
        return ""


def served_replica() -> str:
    """Returns the id of the Serve replica that this process is; "" if it is none. A replica that is made in the place
    of another one has an id of its own.
    """
    try:
        return str(serve.get_replica_context().replica_id.unique_id)
    except RayServeException:
        return ""


def make_follower(app: str, host: WeightsHost) -> Follower | None:
    """Returns a follower for this replica, which carries out the orders of the application's holder of weights on
    `host`.

    Returns None if the application has no holder, or `app` is "": then the weights that were loaded first are served
    for good.
    """
    if not app or find_holder(app) is None:
        return None
    name = ray.get_runtime_context().get_actor_name()

    async def ask(report: ReplicaReport) -> Order | Wait | CatchUp | Admitted:
        holder = await asyncio.to_thread(find_holder, app)
        if holder is None:
            raise LookupError(f"{app} has no holder of its weights any more")
        told: Order | Wait | CatchUp | Admitted = await holder.next.remote(name, report)
        return told

    return Follower(host, ask)
