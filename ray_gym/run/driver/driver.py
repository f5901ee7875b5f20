"""Drives the workers of a run: starts them, gives them leases, takes their reports, and replaces those that die."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import ActorUnschedulableError, RayActorError, RayTaskError

from ray_gym.aio.backoff import pause_s
from ray_gym.errors import RunFailed, UserError, describe, remedy_of
from ray_gym.logs import about
from ray_gym.models.versions import Versions
from ray_gym.run.cluster.nodes import Hello, Nodes
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.driver.commits import Commits
from ray_gym.run.driver.starts import Starts
from ray_gym.run.driver.tally import Tally
from ray_gym.run.worker import ends_of_life
from ray_gym.run.worker.ends_of_life import CLOSE_S, prepare_hook
from ray_gym.run.worker.report import Report
from ray_gym.run.worker.worker import Worker, WorkerSetup

DEATHS_IN_A_ROW = 8
"""Number of deaths in a row without any progress, of a worker and those that replace it, at which the run fails. A
suspect episode causes some of these deaths."""
BACKLOG, LEAST_BACKLOG = 2, 1 / 16
"""Size of a worker's backlog, the episodes that wait there so that a free place is filled without asking the driver.

It is BACKLOG times the episodes that were over in its last report, and at least LEAST_BACKLOG of those that it plays at
once. Long episodes make it small, so that none waits while another worker has room."""
LEASE_GRACE_S = 15
"""Seconds that a worker has beyond `stuck_after_s`, after which it should have ended itself. Then it counts as lost
(frozen, or cut off)."""
ANSWER_S = 2
"""Seconds that a worker has to answer an earlier call when the run is stopped. A healthy one answers every second."""
CANCEL_S = 4
"""Seconds that a worker has, when the run is stopped, to stage its finished episodes."""

CALLS = 8
"""Number of calls that the driver may make to one worker at the same time."""

_FULL = re.compile(rf"\[Errno ({errno.ENOSPC}|{errno.EDQUOT})\][^\n]*")
"""An error of a full disk in the text of an exception of Ray's, of a worker that could not even be made."""
_SIGNAL = re.compile(r"\bprocess receives a (SIG[A-Z]+)")
"""Name of the signal in Ray's text of a process that ended by one which it could handle."""
_MISSING = re.compile(r"^ModuleNotFoundError: No module named '([^']+)'", re.MULTILINE)


class _WorkerLost(Exception):
    """Says that a worker does not answer any more."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Says how a run ended."""

    tally: Tally
    interrupted: bool
    """True if planned episodes are not committed."""
    failure: str | None = None
    """Reason for which the run could not continue; None if there is none. Episodes that were finished before are
    kept."""


MakeWorker = Callable[[str, WorkerSetup, int, Any], Awaitable[Any]]
"""Function that starts a worker as an actor. It takes the worker's name, the setup, the number of episodes to play at
once, and Ray's scheduling strategy."""


async def make_worker(name: str, setup: WorkerSetup, concurrency: int, strategy: Any) -> Any:
    """Starts a worker as a Ray actor, and returns the actor's handle without waiting for the worker to come up.

    name: name of the worker. concurrency: number of episodes to play at once. strategy: Ray's scheduling strategy.
    """
    options = {
        "num_cpus": setup.fanout.cpus_per_worker,
        "max_concurrency": CALLS,
        "scheduling_strategy": strategy,
    }
    return ray.remote(Worker).options(**options).remote(name, setup, concurrency)


class Driver:
    """Starts the workers of a run, replaces those that die, and gives them leases until all episodes are committed or
    the run is stopped.
    """

    def __init__(
        self,
        setup: WorkerSetup,
        directory: RunDirectory,
        commits: Commits,
        stopping: asyncio.Event,
        make: MakeWorker = make_worker,
        open_ended: bool = False,
        wait_s: float = math.inf,
    ) -> None:
        """Makes a driver. `make` starts a worker. `open_ended`: more episodes may come at any time, so workers wait for
        them until `stopping` is set. `wait_s`: seconds for which a first worker waits for CPUs that others hold
        (`Starts`); then the run ends.
        """
        self._fanout = setup.fanout
        self._directory = directory
        self._commits = commits
        self._dispatcher = commits.dispatcher
        self._grants = commits.grants
        self._tally = commits.tally
        self._nodes = Nodes(commits.tally.nodes, setup.fanout.cpus_per_worker)
        self._prepares = prepare_hook(setup.environment)
        self._starts = Starts(self._nodes.busy, wait_s, self._tell_slow_start, self._prepares)
        self._stopping = stopping
        self._make = make
        self._open_ended = open_ended
        self._failure: str | None = None
        self._made = 0
        self._tally.first_tries.tasks = max(1, len(self._dispatcher.pending))
        self._allowed_failures = _allowed_failures(setup.limits.max_failed, commits.tally.total)
        self._setup = setup
        self._leased = asyncio.Event()
        self.workers: dict[str, Any] = {}
        """Handles of the workers (Ray actors) that are up, by name."""
        self.told_versions = Versions()
        """Versions of the weights that the tokens of models which don't tell theirs come from, or of older weights than
        they do. Workers learn it with their next leases."""

    async def run(self) -> Outcome:
        """Plays all episodes until none is left or `stopping` is set, and says how the run ended.

        Errors: UserError, and unexpected exceptions; a RunFailed becomes the outcome's `failure`. All workers are gone
        when it returns or raises.
        """
        count = self._fanout.workers
        if not self._open_ended:
            count = min(count, max(1, self._dispatcher.waiting))
        with about(run=self._setup.run_id), self._commits.metrics.showing(self._dispatcher):
            drives = [asyncio.create_task(self._drive(index, count)) for index in range(count)]
            waiting = asyncio.create_task(self._watch_starts())
            try:
                results = await asyncio.gather(*drives, return_exceptions=True)
            finally:
                waiting.cancel()
                await asyncio.wait({waiting})
        self._tally.took_s = self._tally.elapsed_s
        if self._grants is not None:
            await self._grants.end()
            self._tally.spent = self._grants.budget.charged
        errors = [error for error in results if isinstance(error, BaseException)]
        for error in errors:
            if not isinstance(error, RunFailed):
                raise error
        failure = self._failure or (str(errors[0]) if errors else None)
        return Outcome(self._tally, interrupted=not self._dispatcher.done, failure=failure)

    def wake(self) -> None:
        """Makes the worker with the fewest leased episodes answer the driver now, so that it gets new leases. Does
        nothing if no worker is up.
        """
        if self.workers:
            name = min(self.workers, key=lambda worker: len(self._dispatcher.leases_of(worker)))
            self.workers[name].wake.remote()

    async def wait_until_leased(self, within_s: float) -> None:
        """Waits until any worker gets a new lease, or until `within_s` seconds have passed. It does not tell which."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._leased.wait()

    async def _drive(self, index: int, count: int) -> None:
        """Keeps one worker, and those that replace it, at work until no lease is left for it or the run is stopped.
        After an exception the other workers stop too, and their results are kept. Errors: RunFailed, UserError, and
        unexpected exceptions.
        """
        try:
            await self._with_replacements(max(1, self._share(index, count)))
        except BaseException:
            self._stopping.set()
            raise

    async def _with_replacements(self, concurrency: int) -> None:
        in_a_row = 0
        while True:
            name = f"{self._directory.epoch}-{self._made}"
            self._made += 1
            self._starts.begin(name)
            actor = await self._make(name, self._setup, concurrency, await self._nodes.strategy(name))
            try:
                if not await self._use(name, actor, concurrency):
                    return None
                self._nodes.release_worker(name)
                continue
            except (RayActorError, ActorUnschedulableError, _WorkerLost) as error:
                reason = _reason_of(error)
                if self._prepares and name not in self.workers:
                    reason = f"{reason.removesuffix('.')}, before {self._prepares} had ended"
                    if blocked := await self._blocked_start(name):
                        await self._commits.lose(name, reason, ends_run=True)
                        raise UserError(blocked) from None
                if missing := _MISSING.search(str(error)):
                    await self._commits.lose(name, reason, ends_run=True)
                    raise _code_is_missing(missing[1], str(error)) from None
                if full := _FULL.search(str(error)):
                    raise RunFailed(f"a worker failed: {full[0]}{remedy_of(OSError(int(full[1]), ''))}") from None
            except RayTaskError as error:
                if isinstance(error.cause, RunFailed):
                    raise RunFailed(str(error.cause)) from None
                if isinstance(error.cause, UserError) and name not in self.workers:
                    raise error.cause from None  # it was never up, so none is lost
                await self._commits.lose(name, describe(error.cause or error), ends_run=True)
                if isinstance(error.cause, ModuleNotFoundError) and error.cause.name:
                    raise _code_is_missing(error.cause.name, str(error)) from None
                if isinstance(error.cause, UserError):
                    raise error.cause from None
                raise RunFailed(f"a worker failed: {describe(error.cause or error)}{remedy_of(error.cause)}") from error
            finally:
                self._starts.end(name)
                self.workers.pop(name, None)
                if self._grants is not None:
                    self._grants.close(name)
                ray.kill(actor)
            self._nodes.lose_worker(name)
            in_a_row = 0 if await self._commits.lose(name, reason) else in_a_row + 1
            self._stop_if_too_many_failed()
            self.wake()
            if in_a_row == DEATHS_IN_A_ROW:
                raise RunFailed(
                    f"{in_a_row} workers died in a row with nothing done; the last time: {self._commits.last_loss}"
                )
            if self._stopping.is_set():
                return None
            await asyncio.sleep(pause_s(in_a_row, first_s=0.1, longest_s=10) if in_a_row else 0)

    async def _blocked_start(self, name: str) -> str:
        """Returns the place where the environment's own part of a lost worker's start used up its time by code that blocks,
        as another worker's would, and what to do; "" for any other loss.
        """
        if self._starts.seconds(name) < ends_of_life.PREPARE_S:
            return ""
        last = await asyncio.to_thread(self._commits.fences.last_place_of, name)
        if last is None or last.crash:
            return ""
        took = f"it has not ended within {ends_of_life.PREPARE_S:g} s, and blocks its worker in {last.place}"
        return f"{self._prepares} failed: {took}: give what it waits for a time limit"

    def _share(self, index: int, count: int) -> int:
        concurrency = self._fanout.concurrency
        return concurrency // count + (index < concurrency % count)

    async def _use(self, name: str, actor: Any, concurrency: int) -> bool:
        """Gives a worker leases until none is left for it, the run is stopped, or the worker should move to another
        node. Returns True only in the last case: another worker takes its place.

        Errors: RayActorError if the worker died; _WorkerLost if it does not answer; RayTaskError for an exception in
        the worker; UserError if it can't write the run's directory; RunFailed and OSError while its files are
        committed.
        """
        if not await self._greet(name, actor):
            return False
        self._tally.start()
        self.workers[name] = actor
        backlog = 0
        answer_s = self._fanout.stuck_after_s + LEASE_GRACE_S
        while not self._stopping.is_set():
            moves = not self._open_ended and bool(self._dispatcher.pending) and await self._nodes.should_move(name)
            leases = [] if moves else self._dispatcher.lease(name, concurrency + backlog)
            if leases:
                self._tally.first_tries.begin(leases)
                self._leased.set()
                self._leased = asyncio.Event()
            if not leases and not self._dispatcher.holds(name) and not self._open_ended:
                if self._grants is not None:
                    await self._commits.take(name, await self._answer(actor.finish.remote(), answer_s) or Report())
                await self._close(actor)
                return moves
            news = self._commits.news_for(name)
            allotment = await self._grants.allot(name) if self._grants is not None else None
            report = await self._answer(actor.exchange.remote(leases, news, self.told_versions, allotment), answer_s)
            if report is None:
                raise _WorkerLost("it did not answer when the run was stopped")
            backlog = max(BACKLOG * len(report.over), int(LEAST_BACKLOG * concurrency))
            await self._commits.take(name, report)
            nothing_comes = moves or (not self._open_ended and not self._dispatcher.pending)
            nothing_comes |= self._dispatcher.is_probing or self._dispatcher.plays_alone(name)
            if nothing_comes and self._dispatcher.all_over(name):
                await self._commits.take(name, await self._answer(actor.finish.remote(), answer_s) or Report())
            self._stop_if_too_many_failed()
            self._stop_if_used_up()
        await self._stop(name, actor)
        return False

    async def _close(self, actor: Any) -> None:
        """Closes a worker that has nothing left to play. Errors: RunFailed if it does not end, or its closing raises."""
        try:
            await self._answer(actor.close.remote(), CLOSE_S + ANSWER_S)
        except _WorkerLost:
            hook = f"{type(self._setup.environment).__name__}.close"
            told = (
                f"a worker has not closed within {CLOSE_S:g} s: {hook} may block; the episodes and their rows are kept"
            )
            raise RunFailed(told) from None

    async def _stop(self, name: str, actor: Any) -> None:
        try:
            await self._commits.take(name, await asyncio.wait_for(actor.cancel.remote(), CANCEL_S))
        except TimeoutError:
            raise _WorkerLost("it did not stop in time") from None

    async def _greet(self, name: str, actor: Any) -> bool:
        """Waits until a worker is up, and records its node. Returns False if the run is stopped before. Errors:
        UserError if the worker can't write the run's directory; exceptions of the worker.
        """
        hello: Hello | None = await self._answer(actor.hello.remote(), None)
        if hello is None:
            return False
        self._starts.is_up(name)
        await self._nodes.add_worker(name, hello.node)
        if not await asyncio.to_thread(self._directory.take_greeting, hello.file):
            raise UserError(
                f"output.dir: {self._directory.location} is not shared with the node of worker {name}, or can't be written there"
            )
        return True

    def _tell_slow_start(self, told: str) -> None:
        self._tally.slow_start = told

    async def _watch_starts(self) -> None:
        """Says which workers take long to start, and ends the run if no first one gets CPUs in time."""
        why = await self._starts.watch()
        self._failure = f"{why}; end what holds them, ask for less (fanout.cpus_per_worker), or give it time (--wait, a stream's wait_s)"
        self._stopping.set()

    def _stop_if_too_many_failed(self) -> None:
        failed = self._tally.by_status["failed"]
        if self._allowed_failures is not None and failed > self._allowed_failures and not self._stopping.is_set():
            self._failure = (
                f"{failed} episodes have failed, more than limits.max_failed allows ({self._allowed_failures}); "
                f"most often: {self._tally.commonest_failure}"
            )
            self._stopping.set()
        elif self._allowed_failures is None and not self._open_ended and self._tally.is_hopeless:
            why = self._commits.last_charge or self._tally.commonest_failure
            count = max(self._tally.finished, self._tally.first_tries.losses)
            self._failure = (
                f"all of the first {count} tries failed by the environment's own code, the last or most often: {why}; "
                "mend it, or set limits.max_failed=1.0 to play on"
            )
            self._stopping.set()

    def _stop_if_used_up(self) -> None:
        failure = self._grants.failure if self._grants is not None else None
        if failure is not None and not self._stopping.is_set():
            self._failure = failure
            self._stopping.set()

    async def _answer(self, reference: Any, within_s: float | None) -> Any | None:
        """Returns a worker's answer to a call. Returns None if the run is stopped and the worker does not answer within
        `ANSWER_S` seconds more.

        Errors: _WorkerLost if there is no answer within `within_s` seconds (None: no limit); Ray's exception if the
        call fails.
        """
        answer = asyncio.ensure_future(_wait_for(reference))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({answer, stopping}, return_when=asyncio.FIRST_COMPLETED, timeout=within_s)
            if not answer.done() and not stopping.done():
                raise _WorkerLost(f"it did not answer for {within_s} s")
            if not answer.done():
                await asyncio.wait({answer}, timeout=ANSWER_S)
            return answer.result() if answer.done() else None
        finally:
            answer.cancel()
            stopping.cancel()


def _allowed_failures(max_failed: int | float | None, episodes: int) -> int | None:
    """Returns how many episodes may fail; None means no limit. A float is a share of all `episodes`, rounded down."""
    return int(max_failed * episodes) if isinstance(max_failed, float) else max_failed


def _code_is_missing(module: str, told: str) -> UserError:
    node = re.search(r"\bip=([^\s,)]+)", told)
    return UserError(
        f"the workers{f' on node {node[1]}' if node else ''} can't import {module}: the code of this run is not there. Start it from the "
        "folder with that code, by `ray job submit --working-dir . -- python -m ray_gym rollout ...`, or install it on every node"
    )


async def _wait_for(reference: Any) -> Any:
    return await reference


def _reason_of(error: BaseException) -> str:
    """Returns the first line of the error by which a worker is lost, and the signal that ended it, if Ray tells it."""
    signal = _SIGNAL.search(str(error))
    return f"{_first_line(error).removesuffix('.')}: its process got {signal[1]}" if signal else _first_line(error)


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
