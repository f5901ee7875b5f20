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
from ray_gym.run.receipt import Receipt
from ray_gym.run.tally import Tally
from ray_gym.run.worker import Report, Worker, WorkerSetup

RESTARTS_PER_WORKER = 3
BACKLOG = 0.5
"""Episodes that wait at a worker, as a share of those that it plays: a free place is filled without asking the driver."""
ANSWER_S = 2
"""How long a worker that is being stopped has to answer what it was asked before (a healthy one answers every second)."""
CANCEL_S = 4
"""How long it then has to stage what it finished."""

Notify = Callable[[Tally, int], None]
"""Told of progress: the tally and how many episodes are in flight."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`failure` says why the run could not go on, if it couldn't; what was finished until then is kept."""

    tally: Tally
    interrupted: bool
    failure: str | None = None


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
        planned = {spec.episode_id for spec in plan.specs}
        done = [receipt for receipt in directory.committed() if receipt.episode.episode_id in planned]
        ids = {receipt.episode.episode_id for receipt in done}
        specs = [spec for spec in plan.specs if spec.episode_id not in ids]
        self._plan = plan
        self._directory = directory
        self._notify = notify
        self._dispatcher = Dispatcher.of(specs)
        self._tally = Tally.going_on(len(plan.specs), done)
        self._uncommitted: dict[str, dict[str, Receipt]] = {}
        self._stopping = asyncio.Event()
        self._made = 0
        self._epoch = directory.epoch
        self._setup = WorkerSetup(
            run_id=directory.name,
            env_id=plan.config.environment.id,
            environment=plan.environment,
            participants=plan.participants,
            engines=plan.engines,
            limits=plan.config.limits,
            output=plan.config.output,
            storage=directory.storage,
        )

    async def run(self) -> Outcome:
        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signal_number, self._stopping.set)
        count = min(self._plan.config.fanout.workers, max(1, len(self._dispatcher.pending)))
        drives = [asyncio.create_task(self._drive(index, count)) for index in range(count)]
        results = await asyncio.gather(*drives, return_exceptions=True)
        self._tally.took_s = self._tally.elapsed_s
        errors = [error for error in results if isinstance(error, BaseException)]
        for error in errors:
            if not isinstance(error, RunFailed):
                raise error
        failure = str(errors[0]) if errors else None
        return Outcome(self._tally, interrupted=not self._dispatcher.done, failure=failure)

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
                self._lose(name)
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
        hello = await self._answer(actor.hello.remote())
        if hello is None:
            return
        if not hello or not await asyncio.to_thread(self._directory.greeted, hello):
            raise UserError(
                f"output.dir: {self._directory.location} is not shared with the node of worker {name}, or can't be written there"
            )
        self._tally.start()
        room = concurrency + max(8, int(concurrency * BACKLOG))
        while not self._stopping.is_set():
            leases = self._dispatcher.lease(name, room)
            if not leases and not self._dispatcher.holds(name):
                return
            report = await self._answer(actor.exchange.remote(leases))
            if report is None:
                return self._lose(name)
            self._take(name, report)
            if not self._dispatcher.pending and self._dispatcher.all_over(name):
                self._take(name, await actor.finish.remote())
        try:
            self._take(name, await asyncio.wait_for(actor.cancel.remote(), CANCEL_S))
        except TimeoutError:
            self._lose(name)

    async def _answer(self, reference: Any) -> Any | None:
        """What the worker answers; None if the run is being stopped and the worker does not."""
        answer = asyncio.ensure_future(_awaited(reference))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({answer, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                await asyncio.wait({answer}, timeout=ANSWER_S)
            return answer.result() if answer.done() else None
        finally:
            answer.cancel()
            stopping.cancel()

    def _lose(self, name: str) -> None:
        """The worker is gone, and with it the rows that it had not staged: they are not counted any more."""
        self._dispatcher.lost(name)
        for receipt in self._uncommitted.pop(name, {}).values():
            self._tally.add(receipt, sign=-1)

    def _take(self, name: str, report: Report) -> None:
        """Count what was finished; commit files whole, or refuse them whole."""
        uncommitted = self._uncommitted.setdefault(name, {})
        for receipt in report.finished:
            if self._dispatcher.over(name, [receipt.episode]):
                self._tally.add(receipt)
                uncommitted[receipt.episode.episode_id] = receipt
        for staged in report.staged:
            if self._dispatcher.accept(name, staged.episodes):
                self._directory.commit(staged.name)
                for episode in staged.episodes:
                    uncommitted.pop(episode.episode_id, None)
            else:
                self._directory.refuse(staged.name)
        self._notify(self._tally, self._dispatcher.in_flight)


async def _awaited(reference: Any) -> Any:
    return await reference


def _first_line(error: BaseException | None) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
