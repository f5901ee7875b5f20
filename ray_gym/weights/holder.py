"""Implements the holder of a model's weights: a detached actor, one for each application, that knows which checkpoint
is served, and changes it.

It lives as long as the application (see `ray_gym.hosting.lease`). It also keeps its knowledge in Ray's own store, and
reads it there when Ray starts it again after its death. Replicas then join again, and those that were left in the
middle of an update load what was served.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import ray
from ray import serve
from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError

from ray_gym.errors import RunFailed, UserError
from ray_gym.weights import record
from ray_gym.weights.checkpoint import Checkpoint, Folder, StateDict
from ray_gym.weights.fleet import Fleet
from ray_gym.weights.lines import ServedLines
from ray_gym.weights.orders import (
    Admitted,
    CatchUp,
    Joining,
    Order,
    OrderAnswer,
    PauseMode,
    ReplicaReport,
    Sleep,
    Wait,
    WakeUp,
)
from ray_gym.weights.transfer import Transfers
from ray_gym.weights.update import Deadlines, Status, Update, UpdateFailed

Result = TypeVar("Result")

NAMESPACE = "ray_gym_weights"
REPLICAS_NAMESPACE = "serve"
"""Namespace in which Serve names its replicas."""
GATHER_S = 30.0
"""Seconds that an update waits for replicas that serve but have not joined yet, or not again."""
ANSWER_S = 30.0
"""Seconds that a holder may take to answer, or to end after it was killed."""


@dataclass(frozen=True, slots=True)
class FirstWeights:
    """Describes the weights that the replicas of an application load by themselves."""

    version: int
    ranks: int
    """Number of processes of a replica, each of which holds a part of the model."""


class _Holder:
    """Keeps, in an actor, which weights an application serves, and changes them."""

    def __init__(self, app: str, first: FirstWeights) -> None:
        """Reads which checkpoint is served; without a record of it, that is the first one. Ray also calls this when it
        starts the actor again after its death.
        """
        self._app = app
        self._first = first
        self._served = record.read(app) or ServedLines(Checkpoint(first.version, None))
        self._fleet = Fleet(_is_alive, _kill)
        self._changing = asyncio.Lock()
        self._transfers = Transfers(self._fleet, first.ranks, self._changing, lambda: self._served, self._commit)
        self._update_under_way: Update | None = None
        self._under_way: set[asyncio.Task[Any]] = set()

    async def next(self, name: str, report: ReplicaReport) -> Order | Wait | CatchUp | Admitted:
        """Takes a replica's report, and returns what the replica has to do. A replica that joins waits until no update
        is under way. It is admitted if it has the weights and adapters that are served (or, if the weights were
        transferred, the newest that can be loaded), and is not paused; otherwise it is told to load them.

        Errors: LookupError if the replica reports something else before it has joined.
        """
        if isinstance(report, Joining):
            if self._fleet.knows(name):
                self._fleet.fail_open_orders(name)
            async with self._changing:
                has_own = report.versions[""] == self._served.own.version
                wanted = self._served if has_own else self._served.loadable
                if report.paused or report.versions != wanted.versions:
                    return CatchUp(wanted)
                self._fleet.admit(name)
                return Admitted()
        if not self._fleet.knows(name):
            raise LookupError(f"{name} is to join again")
        return await self._fleet.next(name, report if isinstance(report, OrderAnswer) else None)

    async def status(self, line: str = "") -> Status:
        """Returns which checkpoint serves on a line ("": the model's own), and the step of an update that is under
        way.
        """
        update, current = self._update_under_way, self._served.of(line)
        lines = tuple(self._served.lines.values())
        return Status(current, update.new, update.step, lines) if update else Status(current, lines=lines)

    async def add_line(self, line: str) -> None:
        """Makes a line of adapters known, which has none at first. A line that is known already stays as it is."""
        async with self._changing:
            if line not in self._served.lines:
                await self._keep(self._served.having_line(line))

    async def update(
        self, version: int, source: Folder | StateDict, mode: PauseMode, deadlines: Deadlines, line: str = ""
    ) -> int:
        """Carries out an update, and returns its version, which all replicas serve then. `line`: line of adapters that
        gets a new one; "" for the model's own weights.

        Errors: UserError if the update is refused, and nothing was touched; UpdateFailed if it failed.
        """
        return await self._carry_out(self._update(version, source, mode, deadlines, line))

    async def transfer(self, step: str, argument: Any, deadlines: Deadlines) -> int | None:
        """Carries out a step of vLLM's weight transfer. Returns the version that serves after the step `finish`, None
        after others.

        Errors: UserError if the step is refused, and nothing was touched; UpdateFailed if it failed.
        """
        return await self._carry_out(self._transfer(step, argument, deadlines))

    async def set_memory(self, task: Sleep | WakeUp, deadlines: Deadlines) -> None:
        """Puts all replicas to sleep, or wakes them. Errors: UserError if replicas that serve have not joined;
        UpdateFailed if a replica fails.
        """
        await self._carry_out(self._set_memory(task, deadlines))

    async def _carry_out(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Carries work out to its end, even if the caller is cancelled, and returns its result."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)

    async def _update(
        self, version: int, source: Folder | StateDict, mode: PauseMode, deadlines: Deadlines, line: str
    ) -> int:
        await self._gather()
        async with self._changing:
            new = self._served.next(line, version, source)
            update = Update(self._fleet, self._served, new, mode, deadlines, self._commit)
            self._update_under_way = update
            try:
                await update.carry_out()
            finally:
                self._update_under_way = None
            return version

    async def _transfer(self, step: str, argument: Any, deadlines: Deadlines) -> int | None:
        transfers = self._transfers
        match step:
            case "init":
                await self._gather()
                await transfers.init(argument, deadlines)
            case "start":
                await transfers.start(argument, deadlines)
            case "update":
                await transfers.update(argument, deadlines)
            case "finish":
                return await transfers.finish(deadlines)
        return None

    async def _set_memory(self, task: Sleep | WakeUp, deadlines: Deadlines) -> None:
        await self._gather()
        async with self._changing:
            answers = await self._fleet.ask(task, deadlines.load_s)
            if answers.failed:
                raise UpdateFailed("; ".join(sorted(set(answers.failed.values()))))

    async def _commit(self, checkpoint: Checkpoint) -> None:
        """Makes a checkpoint the one that is served, on its line."""
        await self._keep(self._served.having(checkpoint))

    async def _keep(self, served: ServedLines) -> None:
        """Keeps what is served, first in Ray's store."""
        await asyncio.to_thread(record.write, self._app, served)
        self._served = served

    async def _gather(self) -> None:
        """Forgets dead replicas, and waits until all replicas that serve have joined.

        Errors: UserError if some have not after `GATHER_S` seconds, since they would keep other weights.
        """
        deadline = time.monotonic() + GATHER_S
        while True:
            await self._fleet.drop_dead()
            serving = await asyncio.to_thread(_count_running, self._app)
            joined = len(self._fleet.names)
            if joined >= serving:
                return
            if time.monotonic() > deadline:
                raise UserError(f"{self._app}: {serving} replicas serve, and {joined} of them have joined; try again")
            await asyncio.sleep(0.2)


def start_holder(app: str, first: FirstWeights) -> None:
    """Starts the holder of an application's weights, before the application is deployed: its replicas look for it.
    Forgets what was kept under the application's name.

    Errors: RunFailed if there is a holder, since another run is starting the application.
    """
    record.forget(app)
    options = {"name": app, "namespace": NAMESPACE, "lifetime": "detached", "max_restarts": -1}
    try:
        ray.remote(num_cpus=0)(_Holder).options(**options).remote(app, first)
    except ValueError:
        raise RunFailed(f"another run is starting the Serve application {app} right now; choose another name") from None


def find_holder(app: str) -> Any | None:
    """Returns the actor that holds an application's weights. Returns None if no run started the application, or its
    engine's weights can't be changed.
    """
    try:
        return ray.get_actor(app, namespace=NAMESPACE)
    except ValueError:
        return None


def is_changed(app: str) -> bool:
    """Returns True if an application serves other weights than it was deployed with, or is being updated, or its holder
    does not answer within `ANSWER_S` seconds. Returns False if it has no holder.
    """
    holder = find_holder(app)
    if holder is None:
        return False
    try:
        status: Status = ray.get(holder.status.remote(), timeout=ANSWER_S)
    except (RayActorError, GetTimeoutError):
        return True
    has_adapters = any(checkpoint.is_adapter for checkpoint in status.lines)
    return status.current.source is not None or has_adapters or status.updating_to is not None


def dismiss_holder(app: str) -> None:
    """Kills the holder of a deleted application, if it has one, and forgets its checkpoint. Waits up to `ANSWER_S`
    seconds until its name is free.
    """
    holder = find_holder(app)
    if holder is None:
        return
    ray.kill(holder)
    record.forget(app)
    deadline = time.monotonic() + ANSWER_S
    while find_holder(app) is not None and time.monotonic() < deadline:
        time.sleep(0.05)


async def _is_alive(replica: str) -> bool:
    try:
        await asyncio.to_thread(ray.get_actor, replica, namespace=REPLICAS_NAMESPACE)
    except ValueError:
        return False
    return True


async def _kill(replica: str) -> None:
    try:
        ray.kill(await asyncio.to_thread(ray.get_actor, replica, namespace=REPLICAS_NAMESPACE))
    except ValueError:
        return


def _count_running(app: str) -> int:
    """Returns the number of running replicas of an application; 0 if Serve can't be asked."""
    try:
        application = serve.status().applications.get(app)
    except (RayActorError, RayTaskError):
        return 0
    deployments = application.deployments.values() if application else ()
    return sum(deployment.replica_states.get("RUNNING", 0) for deployment in deployments)
