"""Carries a plan out: brings up models and workers, leases episodes, commits their files, and takes everything down."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from ray_gym.errors import RunFailed, UserError, describe
from ray_gym.run.directory import RunDirectory
from ray_gym.run.dispatcher import Dispatcher
from ray_gym.run.plan import Plan
from ray_gym.run.tally import Tally
from ray_gym.run.worker import Report, Worker, WorkerSetup

RESTARTS_PER_WORKER = 3
BACKLOG = 0.5
"""Episodes that wait at a worker, as a share of those that it plays: a free place is filled without asking the driver."""
CANCEL_S = 6
"""How long workers have to stage what they finished when a run is interrupted."""

Notify = Callable[[Tally, int], None]
"""Told of progress: the tally and how many episodes are in flight."""


@dataclass(frozen=True, slots=True)
class Outcome:
    tally: Tally
    interrupted: bool


def carry_out(plan: Plan, directory: RunDirectory, say: Callable[[str], None], notify: Notify) -> Outcome:
    """Play the whole plan on the connected cluster. Blocks.

    Errors: UserError, RunFailed. However it ends, the models and workers that it started are gone after it.
    """
    with ExitStack() as started:
        for name, engine in plan.engines.items():
            started.callback(engine.stop)
            engine.start(directory.name, name, say)
        return asyncio.run(_Driver(plan, directory, notify).run())


class _Driver:
    def __init__(self, plan: Plan, directory: RunDirectory, notify: Notify) -> None:
        done = directory.committed_ids()
        specs = [spec for spec in plan.specs if spec.episode_id not in done]
        self._plan = plan
        self._directory = directory
        self._notify = notify
        self._dispatcher = Dispatcher.of(specs)
        self._tally = Tally(total=len(plan.specs), already_done=len(done))
        self._stopping = asyncio.Event()
        self._made = 0
        self._epoch = len(list(directory.episodes.glob("*.parquet")))
        self._setup = WorkerSetup(
            run_id=directory.name,
            env_id=plan.config.environment.id,
            environment=plan.environment,
            participants=plan.participants,
            engines=plan.engines,
            limits=plan.config.limits,
            output=plan.config.output,
            staging=directory.staging,
        )

    async def run(self) -> Outcome:
        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signal_number, self._stopping.set)
        count = min(self._plan.config.fanout.workers, max(1, len(self._dispatcher.pending)))
        drives = [asyncio.create_task(self._drive(index, count)) for index in range(count)]
        results = await asyncio.gather(*drives, return_exceptions=True)
        self._tally.took_s = self._tally.elapsed_s
        for error in results:
            if isinstance(error, BaseException):
                raise error
        return Outcome(self._tally, interrupted=not self._dispatcher.done)

    async def _drive(self, index: int, count: int) -> None:
        """Have one worker at work until nothing is left for it. If that can't be, the others stop too, keeping what they have."""
        try:
            await self._with_restarts(max(1, self._share(index, count)))
        except BaseException:
            self._stopping.set()
            raise

    async def _with_restarts(self, concurrency: int) -> None:
        last: BaseException | None = None
        for _ in range(RESTARTS_PER_WORKER + 1):
            name = f"{self._epoch}-{self._made}"
            self._made += 1
            actor = self._make(name, concurrency)
            try:
                return await self._use(name, actor, concurrency)
            except RayActorError as error:
                last = error
                self._dispatcher.lost(name)
            except RayTaskError as error:
                raise RunFailed(f"a worker failed: {describe(error.cause or error)}") from error
            finally:
                ray.kill(actor)
        raise RunFailed(f"a worker died {RESTARTS_PER_WORKER + 1} times; the last time: {_first_line(last)}")

    def _share(self, index: int, count: int) -> int:
        concurrency = self._plan.config.fanout.concurrency
        return concurrency // count + (index < concurrency % count)

    def _make(self, name: str, concurrency: int) -> Any:
        options = {"num_cpus": self._plan.config.fanout.cpus_per_worker, "max_concurrency": 8}
        return ray.remote(Worker).options(**options).remote(name, self._setup, concurrency)

    async def _use(self, name: str, actor: Any, concurrency: int) -> None:
        hello = await actor.hello.remote()
        if not (self._directory.staging / hello).exists():
            raise UserError(
                f"output.dir: {self._directory.path} is not shared with the node of worker {name}; use a path that is"
            )
        (self._directory.staging / hello).unlink()
        self._tally.start()
        room = concurrency + max(8, int(concurrency * BACKLOG))
        while not self._stopping.is_set():
            leases = self._dispatcher.lease(name, room)
            if not leases and not self._dispatcher.holds(name):
                return
            self._take(name, await actor.exchange.remote(leases))
            if not self._dispatcher.pending and self._dispatcher.all_over(name):
                self._take(name, await actor.finish.remote())
        try:
            self._take(name, await asyncio.wait_for(actor.cancel.remote(), CANCEL_S))
        except TimeoutError:
            raise RunFailed(f"worker {name} did not stop within {CANCEL_S} s; what it had not staged is lost") from None

    def _take(self, name: str, report: Report) -> None:
        """Count what was finished; commit files whole, or refuse them whole."""
        self._dispatcher.over(name, (receipt.episode for receipt in report.finished))
        for receipt in report.finished:
            self._tally.add(receipt)
        for staged in report.staged:
            if self._dispatcher.accept(name, staged.episodes):
                self._directory.commit(staged.name)
            else:
                self._directory.refuse(staged.name)
        self._notify(self._tally, self._dispatcher.in_flight)


def _first_line(error: BaseException | None) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
