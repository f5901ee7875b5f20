"""Queues and plays the service's rollouts.

Each rollout is a run of its own. A driver on this event loop plays it. After a restart of the service it is resumed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter, deque
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from ray_gym.config.sections import RunConfig
from ray_gym.errors import RunFailed, UserError, describe
from ray_gym.metrics.recorder import Recorder
from ray_gym.models.base import Engine
from ray_gym.openai_api.refused import Refused, not_found, service_unavailable, too_many_requests
from ray_gym.run.directory.directory import RunDirectory, find_run, reopen
from ray_gym.run.driver.carrying_out import drive, load_commits, summary_of
from ray_gym.run.driver.commits import Commits
from ray_gym.run.driver.driver import Outcome
from ray_gym.run.driver.tally import Tally
from ray_gym.run.fingerprint import Fingerprint
from ray_gym.run.plan import Plan
from ray_gym.service.api import RolloutList, RolloutRequest, RolloutStatus
from ray_gym.service.keys import digest, id_for
from ray_gym.service.offers import Offer, choose_offer
from ray_gym.service.pages import list_newest
from ray_gym.service.rollouts.rollout import CANCELLED, Rollout
from ray_gym.service.rollouts.rollout_store import RolloutStore
from ray_gym.service.rollouts.submission import plan_again, submission_of

logger = logging.getLogger(__name__)

PLANNED_AT_ONCE = 2
"""Most requests that are checked at the same time. One may have 100,000 tasks."""
RETRY_S = 5.0
"""Seconds after which a caller is told to try again if the queue is full or files can't be written."""
LONGEST_WAIT_S = 60.0
"""Most seconds for which a call waits for a rollout to change."""


class RolloutQueue:
    """A queue holds the rollouts of all callers and plays them in their order, a few at once.

    Use it on one event loop. Methods that take a `run_id` raise Refused (404) if the caller has no rollout of this id.
    """

    def __init__(
        self,
        config: RunConfig,
        config_dir: Path,
        engines: Mapping[str, Engine],
        offers: Mapping[str, Offer],
        folder: Path,
        recorder: Recorder,
    ) -> None:
        """Takes the service's config, the engines of its models, and its offers by name.

        `config_dir`: folder where relative paths of task files are looked for. `folder`: directory in which each
        rollout has its own.
        """
        self._config = config.model_copy(update={"output": config.output.model_copy(update={"dir": str(folder)})})
        self._config_dir = config_dir
        self._engines = engines
        self._offers = offers
        self._folder = folder
        self._recorder = recorder
        self._rollouts = RolloutStore(folder)
        self._queue: deque[Rollout] = deque()
        self._making: Counter[str] = Counter()
        """Number of each caller's rollouts that are being made."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._playing: dict[str, asyncio.Task[None]] = {}
        self._planning = asyncio.Semaphore(PLANNED_AT_ONCE)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._closing = False

    # ---- what callers ask ----

    async def submit(self, caller: str, request: RolloutRequest, key: str | None) -> tuple[RolloutStatus, bool]:
        """Makes a rollout and queues it.

        Returns its status and True. If this caller has used the idempotency key `key` for the same request before, it
        returns the status of that rollout and False. The rollout is made also if the call is cancelled meanwhile.
        Errors: Refused if the request is wrong, if the key was used for another request, if too many rollouts wait, if
        files can't be written, or if the service is stopping.
        """
        task = asyncio.create_task(self._submit(caller, request, key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    def list_page(self, caller: str, cursor: str | None, limit: int) -> RolloutList:
        """Returns a page of the caller's rollouts that are in memory: at most `limit`, the newest first.

        It begins after `cursor`; None means at the newest.
        """
        page = list_newest(self._rollouts.list_of(caller), cursor, limit)
        return RolloutList(rollouts=[rollout.status() for rollout in page.items], next=page.next)

    async def status(self, caller: str, run_id: str) -> RolloutStatus:
        """Returns the status of a rollout. Errors: Refused (404) if the caller has none of this id."""
        return (await self._find_own(caller, run_id)).status()

    async def location(self, caller: str, run_id: str) -> str:
        """Returns the path of a rollout's directory. Errors: Refused (404) if the caller has no rollout of this id."""
        return str(self._folder / (await self._find_own(caller, run_id)).id)

    async def cancel(self, caller: str, run_id: str) -> RolloutStatus:
        """Cancels a rollout and returns its status. Its finished episodes are kept.

        The cancellation is on disk when this returns. Workers may still be stopping then. Errors: Refused if the caller
        has no such rollout (404), if it is over (409), or if the cancellation can't be written (503).
        """
        rollout = await self._find_own(caller, run_id)
        if rollout.is_over:
            raise Refused(409, "already_over", f"rollout {run_id!r} is {rollout.state} already")
        before, rollout.state = rollout.state, "cancelled"
        try:
            await asyncio.to_thread((self._folder / rollout.id / CANCELLED).touch)
        except OSError as error:
            rollout.state = before
            raise self._unwritable(error) from None
        rollout.stopping.set()
        if rollout in self._queue:
            self._queue.remove(rollout)
            rollout.ended_at, rollout.is_on_disk = time.time(), True
            self._rollouts.forget_old(caller)
        rollout.notify()
        return rollout.status()

    async def wait(self, caller: str, run_id: str, commits: int, timeout_s: float) -> tuple[RolloutStatus, int]:
        """Waits until more than `commits` files are committed, the rollout has ended, or the time is up.

        The time is `timeout_s` seconds, but at most LONGEST_WAIT_S. Returns the status and the number of committed
        files. Errors: Refused if the caller has no such rollout (404), or if the service is stopping (503).
        """
        rollout = await self._find_own(caller, run_id)
        try:
            async with asyncio.timeout(min(timeout_s, LONGEST_WAIT_S)):
                while rollout.ended_at is None and rollout.commits <= commits:
                    self._refuse_if_closing()
                    await rollout.wait_for_change()
        except TimeoutError:
            pass
        return rollout.status(), rollout.commits

    def counts(self) -> dict[str, float]:
        """Returns the number of rollouts in each state, by the names `rollouts.STATE`."""
        states = self._rollouts.count_states()
        return {f"rollouts.{state}": states[state] for state in ("queued", "running", "done", "failed", "cancelled")}

    def troubles(self) -> list[str]:
        """Returns the troubles of rollouts under way (`Tally.troubles`), with their ids."""
        told = [(one.id, one.tally.troubles) for one in self._rollouts.in_memory if one.tally]
        return [f"rollout {id}: {line}" for id, troubles in told for line in troubles.splitlines()]

    # ---- from start to end ----

    async def recover(self) -> None:
        """Reads the rollouts that an earlier service left in the folder, and queues those that are not over."""
        self._queue.extend(await self._rollouts.recover())
        self._play_next()

    async def close(self) -> None:
        """Stops all rollouts and waits for them. Unfinished ones are resumed when the service is started again."""
        self._closing = True
        for rollout in self._rollouts.in_memory:
            rollout.stopping.set()
            rollout.notify()
        if pending := [*self._tasks, *self._playing.values()]:
            await asyncio.wait(pending)

    async def _find_own(self, caller: str, run_id: str) -> Rollout:
        """Finds a rollout of this caller by its id.

        Errors: Refused (404) if there is none, also if it is another caller's.
        """
        rollout = await self._rollouts.find(run_id)
        if rollout is None or rollout.caller != caller:
            raise not_found("rollout", run_id[:64])
        return rollout

    # ---- making one ----

    async def _submit(self, caller: str, request: RolloutRequest, key: str | None) -> tuple[RolloutStatus, bool]:
        body = await asyncio.to_thread(_hash_of, request)
        run_id = id_for(caller, key)
        async with self._locks.setdefault(run_id, asyncio.Lock()):
            if (known := await self._rollouts.find(run_id)) is not None:
                if known.body != body:
                    raise Refused(409, "key_reused", "this idempotency key was used with another body already")
                return known.status(), False
            self._refuse_if_full(caller)
            self._making[caller] += 1
            try:
                rollout = await self._make(run_id, caller, body, request, key)
            finally:
                self._making[caller] -= 1
            self._rollouts.add(rollout)
            self._queue.append(rollout)
            self._play_next()
            return rollout.status(), True

    def _refuse_if_full(self, caller: str) -> None:
        """Checks that the queue can take another rollout of this caller.

        Errors: Refused if it is full, or if the caller has its share of rollouts that are not over (429); if the
        service is stopping (503).
        """
        self._refuse_if_closing()
        service = self._config.service
        places = service.queued_rollouts + service.active_rollouts
        if self._making.total() + len(self._queue) + len(self._playing) >= places:
            raise too_many_requests(f"{service.queued_rollouts} rollouts are waiting already; come back later", RETRY_S)
        own = self._making[caller] + sum(not rollout.is_over for rollout in self._rollouts.list_of(caller))
        if own >= service.most_of_one(places):
            raise too_many_requests(
                f"{own} rollouts of yours are not over, as many as there may be; come back later", RETRY_S
            )

    def _refuse_if_closing(self) -> None:
        """Checks that the service is not stopping. Errors: Refused (503) if it is."""
        if self._closing:
            raise service_unavailable("the service is stopping")

    async def _make(self, run_id: str, caller: str, body: str, request: RolloutRequest, key: str | None) -> Rollout:
        """Checks a request, writes the directory of its run, and returns the rollout, which is not queued yet.

        Errors: Refused if the request is wrong (422), or if a file can't be read or written (503).
        """
        offer = choose_offer(self._offers, request.environment)
        async with self._planning:
            submission = await asyncio.to_thread(
                submission_of, request, offer, self._config, self._config_dir, self._engines, run_id
            )
            rollout = Rollout(run_id, caller, body, offer.name, submission.episodes, time.time(), submission.notes)
            said = request.model_dump(mode="json", exclude_unset=True, exclude={"tasks"})
            try:
                await asyncio.to_thread(submission.write, rollout.as_json(said, key and digest(key)))
            except (UserError, RunFailed, OSError) as error:
                raise self._unwritable(error) from None
        return rollout

    def _unwritable(self, error: Exception) -> Refused:
        """Logs that a file could not be written, and returns the refusal (503)."""
        logger.error("rollouts can't be written: %s", describe(error))
        return service_unavailable("the service can't write its files now", RETRY_S)

    # ---- playing them ----

    def _play_next(self) -> None:
        """Begins the next rollouts of the queue, as many as may be played at once."""
        while self._queue and len(self._playing) < self._config.service.active_rollouts and not self._closing:
            rollout = self._queue.popleft()
            self._playing[rollout.id] = asyncio.create_task(self._play(rollout))
            self._playing[rollout.id].add_done_callback(partial(self._note_end, rollout.id))

    def _note_end(self, run_id: str, _: asyncio.Task[None]) -> None:
        del self._playing[run_id]
        self._play_next()

    async def _play(self, rollout: Rollout) -> None:
        """Plays a rollout until it is over or the service stops.

        An error makes the rollout fail, unless it was cancelled.
        """
        try:
            await self._carry_out(rollout)
        except (UserError, RunFailed, OSError) as error:
            rollout.fail(self._reason(error))
        except Exception as error:
            logger.exception("rollout %s: the service failed", rollout.id)
            rollout.fail(f"the service failed: {type(error).__name__}")
        finally:
            rollout.release()
            self._rollouts.forget_old(rollout.caller)

    async def _carry_out(self, rollout: Rollout) -> None:
        """Plays a rollout from opening its directory to its summary.

        Errors: UserError, RunFailed or OSError if the run can't be planned, or its directory can't be opened or
        written.
        """
        plan, directory = await asyncio.to_thread(self._open, self._folder / rollout.id)
        try:

            def note_progress(tally: Tally, in_flight: int) -> None:
                rollout.note_commit(directory.order.last)

            commits = await asyncio.to_thread(load_commits, plan, directory, note_progress, self._recorder)
            for problem in commits.fences.problems:
                logger.warning("rollout %s: journal: %s", rollout.id, problem)
            rollout.begin(commits.tally)
            outcome = await self._drive(plan, directory, commits, rollout.stopping)
            own = rollout.end(outcome)
            await asyncio.to_thread(directory.write_summary, {**summary_of(plan, directory.name, outcome), **own})
            rollout.is_on_disk = rollout.is_over
        finally:
            await asyncio.to_thread(directory.close)

    def _open(self, folder: Path) -> tuple[Plan, RunDirectory]:
        """Plans a rollout's run and opens its directory, as for a resume. Returns both. Blocks.

        Errors: UserError if the run does not fit what was recorded, such as another model or other tasks; OSError.
        """
        before = find_run(folder)
        config = before.read_config()
        for name in {section.model for section in config.participants.values()}:
            if config.models[name] != self._config.models.get(name):
                raise UserError(f"models.{name}: it is another one now than when this rollout began")
        plan = plan_again(config, folder, self._engines)
        if (began := before.read_fingerprint()) is not None:
            began.check(Fingerprint.of(plan), folder.name, "its source")
        return plan, reopen(folder, config.output)

    async def _drive(self, plan: Plan, directory: RunDirectory, commits: Commits, stopping: asyncio.Event) -> Outcome:
        """Drives a run and returns its outcome.

        If the run was to stop before it began, or the driver raises UserError or RunFailed, the outcome is an
        interrupted one. Its failure is without the path of the service's files.
        """
        if stopping.is_set():
            return Outcome(commits.tally, interrupted=True)
        try:
            outcome = await drive(plan, directory, commits, stopping)
        except (UserError, RunFailed) as error:
            return Outcome(commits.tally, interrupted=True, failure=self._reason(error))
        return outcome if outcome.failure is None else Outcome(outcome.tally, True, self._without_path(outcome.failure))

    def _reason(self, error: Exception) -> str:
        """Returns the message of an error without the path of the service's files, which callers must not see."""
        return self._without_path(str(error) if isinstance(error, UserError | RunFailed) else describe(error))

    def _without_path(self, text: str) -> str:
        """Returns a message without the path of the service's files and without `--resume: `, which mean nothing to
        callers.
        """
        return text.replace(f"{self._folder}/", "").replace("--resume: ", "")


def _hash_of(request: RolloutRequest) -> str:
    """Returns a digest of a request, by which two requests with the same idempotency key are compared."""
    return digest(json.dumps(request.model_dump(exclude_defaults=True), sort_keys=True))
