"""Opens sessions for callers, and says which worker has each.

Open sessions are resumed after a restart of the service. Ended ones are remembered for a while.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from ray_gym.config.sections import GroupsSection, RunConfig, RunSection, ServiceSection
from ray_gym.data.checking import BadRow, task_of
from ray_gym.data.rows import FileRow
from ray_gym.data.tasks import generate_tasks, with_ids
from ray_gym.environment import Environment
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import RunFailed, UserError
from ray_gym.metrics.recorder import Recorder
from ray_gym.models.base import Engine
from ray_gym.openai_api.refused import Refused, not_found, service_unavailable, too_many_requests, unprocessable_content
from ray_gym.run.plan import Plan
from ray_gym.seeds import derive_seed
from ray_gym.service.api import SessionEntry, SessionList, SessionRequest
from ray_gym.service.keys import digest, id_for
from ray_gym.service.offers import Offer, choose_offer
from ray_gym.service.pages import list_newest
from ray_gym.service.sessions.registry import Registry, SessionRecord
from ray_gym.service.sessions.session_run import SessionRun

logger = logging.getLogger(__name__)

REMEMBERED = 10_000
"""Number of ended sessions that callers can still ask for. Their episodes stay in the run."""
RETRY_S = 5.0
"""Seconds after which a caller is told to try again if sessions can't be opened now."""
LONGEST_WAIT_S = 60.0
"""Most seconds for which a call waits for a commit."""


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """Says where a session is: at a worker or, once its episode is committed, in a file of the run."""

    session_id: str
    offer: str
    """Name of the offer that the session plays."""
    worker: Any | None
    """Ray actor of the worker that has the session; None if the session has ended and is committed."""
    location: str
    """Location of the run that the session's episode belongs to."""
    is_new: bool = False
    """True if this call has opened the session."""
    file: str | None = None
    """Name of the file that the episode was committed in; None if that is not known."""


class Sessions:
    """Holds the sessions of all callers, and a run of sessions for each environment.

    Use it on one event loop. Its methods raise Refused, also for another caller's session.
    """

    def __init__(
        self,
        config: RunConfig,
        engines: Mapping[str, Engine],
        offers: Mapping[str, Offer],
        root: Path,
        recorder: Recorder,
    ) -> None:
        """Takes the service's config, the engines of its models, its offers by name, and its directory `root`."""
        self._config = config
        self._engines = engines
        self._offers = offers
        self._folder = root / "sessions"
        self._recorder = recorder
        self._registry = Registry(root / "registry")
        self._runs: dict[str, SessionRun] = {}
        self._open: dict[str, SessionRecord] = {}
        self._ended: OrderedDict[str, SessionRecord] = OrderedDict()
        self._files: dict[str, str | None] = {}
        """Names of the files that ended sessions were committed in, by session id; None if not known."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._commits: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()
        """Events of the sessions whose commit a call waits for, by session id."""

    async def open(self, caller: str, request: SessionRequest, key: str | None) -> SessionPlace:
        """Opens a session, and returns its place once a worker has it.

        `key` is the idempotency key: if this caller has opened a session with it before, that one's place is returned.
        None: always open another. Errors: Refused if the key was used with another request, if too many sessions are
        open, or if the request is wrong or can't be served now.
        """
        session_id = id_for(caller, key)
        body = await asyncio.to_thread(lambda: digest(request.model_dump_json()))  # a task may be large
        async with self._locks.setdefault(session_id, asyncio.Lock()):
            if (known := self._open.get(session_id) or self._ended.get(session_id)) is not None:
                if known.body != body:
                    raise Refused(409, "key_reused", "this idempotency key was used with another body already")
                return await self.place(caller, session_id)
            self._refuse_if_full(caller)
            offer = choose_offer(self._offers, request.environment)
            created_at = time.time()
            self._open[session_id] = SessionRecord(caller, offer.name, body, _unknown_spec(session_id), created_at)
            try:
                run = await self._run_for(offer)
                spec = await asyncio.to_thread(_spec, session_id, request, run.plan.environment)
                await self._admit(SessionRecord(caller, offer.name, body, spec, created_at))
            except BaseException:
                del self._open[session_id]
                raise
        placed = await self.place(caller, session_id)
        return SessionPlace(session_id, placed.offer, placed.worker, placed.location, is_new=True)

    def _refuse_if_full(self, caller: str) -> None:
        """Checks that another session of this caller may be opened.

        Errors: Refused (429) if the service, or this caller, has as many open ones as it may have.
        """
        service = self._config.service
        if len(self._open) >= service.max_sessions:
            raise too_many_requests(f"{len(self._open)} sessions are open, as many as there may be", RETRY_S)
        own, most = (
            sum(session.caller == caller for session in self._open.values()),
            service.most_of_one(service.max_sessions),
        )
        if own >= most:
            raise too_many_requests(f"{own} sessions of yours are open, and {most} may be", RETRY_S)

    async def _admit(self, session: SessionRecord) -> None:
        """Records a session and adds it to its run, to be played. Errors: Refused (503) if that is not possible now.

        If the run is started again meanwhile, the session is given to it at its start or added afterwards, never both.
        """
        session_id = session.spec.episode_id
        try:
            await asyncio.to_thread(self._registry.add, session)
            async with self._locked_run(self._offers[session.offer]) as run:
                self._open[session_id] = session
                run.add(session.spec)
        except BaseException as error:
            with suppress(OSError):
                await asyncio.to_thread(self._registry.remove, session_id)
            if isinstance(error, OSError):
                raise service_unavailable(f"the session can't be recorded now: {error.strerror}") from None
            raise

    async def place(self, caller: str, session_id: str) -> SessionPlace:
        """Returns the present place of a session. Call it again if the session's worker has died.

        If the session has not ended, the call waits until a worker has it. Errors: Refused if the caller has no such
        session (404), or no worker gets it (503).
        """
        known = self._find_own(caller, session_id)
        run = await self._run_for(self._offers[known.offer])
        worker = await run.holder_of(session_id, lambda: session_id not in self._open)
        return SessionPlace(session_id, known.offer, worker, run.location, file=self._files.get(session_id))

    def list_page(self, caller: str, cursor: str | None, limit: int) -> SessionList:
        """Returns a page of the caller's sessions: at most `limit`, the newest first, from a cursor on.

        They are the open ones, without those that are still being opened, and the ended ones that are remembered.
        """
        of_all = [*self._open.values(), *self._ended.values()]
        page = list_newest([one for one in of_all if one.caller == caller and one.spec.task], cursor, limit)
        return SessionList(sessions=[self._entry_of(one) for one in page.items], next=page.next)

    def _entry_of(self, session: SessionRecord) -> SessionEntry:
        return SessionEntry(
            id=session.id,
            environment=session.offer,
            task_id=session.spec.task_id,
            state="open" if session.id in self._open else "committed",
            created_at=session.created_at,
        )

    async def wait_until_committed(self, caller: str, session_id: str, within_s: float) -> SessionPlace:
        """Waits until a session is committed or the time is up, and returns its place.

        The time is `within_s` seconds, but at most LONGEST_WAIT_S. Errors: Refused if the caller has no such session
        (404), or no worker gets it (503).
        """
        self._find_own(caller, session_id)
        with suppress(TimeoutError):
            async with asyncio.timeout(min(within_s, LONGEST_WAIT_S)):
                while session_id in self._open:
                    await self._commits.setdefault(session_id, asyncio.Event()).wait()
        return await self.place(caller, session_id)

    def _find_own(self, caller: str, session_id: str) -> SessionRecord:
        """Finds a session of this caller by its id.

        Errors: Refused (404) if there is none, also if it is another caller's.
        """
        known = self._open.get(session_id) or self._ended.get(session_id)
        if known is None or known.caller != caller:
            raise not_found("session", session_id[:64])
        return known

    def counts(self) -> dict[str, float]:
        """Returns the number of open sessions, under the name `sessions.open`."""
        return {"sessions.open": len(self._open)}

    def troubles(self) -> list[str]:
        """Returns the troubles of runs of sessions (`Tally.troubles`), with the environments of their sessions."""
        return [f"sessions of {name}: {line}" for name, run in self._runs.items() for line in run.troubles.splitlines()]

    async def recover(self) -> None:
        """Resumes the sessions that were open when an earlier service ended, except those of offers that are gone.

        Errors: Refused if a run can't be started; OSError, and others for a broken file of the registry.
        """
        for registered in await asyncio.to_thread(lambda: list(self._registry.all())):
            if registered.offer in self._offers:
                self._open[registered.spec.episode_id] = registered
        for name in sorted({registered.offer for registered in self._open.values()}):
            await self._run_for(self._offers[name])

    async def close(self) -> None:
        """Closes all runs. Open sessions are resumed when the service is started again."""
        await asyncio.gather(*(run.close() for run in self._runs.values()))

    async def _run_for(self, offer: Offer) -> SessionRun:
        """Returns the run of an offer, which is started if it is not up.

        Errors: Refused (503) if it can't be started.
        """
        async with self._locked_run(offer) as run:
            return run

    @asynccontextmanager
    async def _locked_run(self, offer: Offer) -> AsyncIterator[SessionRun]:
        """Yields the run of an offer, which no other call starts meanwhile.

        The run is started with the first session, and again if its driver has ended. Errors: Refused (503) if it can't
        be started.
        """
        async with self._locks.setdefault(f"run {offer.name}", asyncio.Lock()):
            run = self._runs.get(offer.name)
            if run is None or not run.is_up:
                run = await self._start_run(offer)
            yield run

    async def _start_run(self, offer: Offer) -> SessionRun:
        """Starts the run of an offer with all its open sessions, and notes which of them are committed already.

        Errors: Refused (503) if it can't be started.
        """
        if (ended := self._runs.pop(offer.name, None)) is not None:
            await ended.close()
        try:
            plan = await asyncio.to_thread(self._plan, offer)
            run = SessionRun(offer.name, plan, self._note_committed, self._recorder)
            await run.start([one.spec for one in self._open.values() if one.offer == offer.name and one.spec.task])
        except (UserError, RunFailed, OSError) as error:
            logger.warning("sessions of %s: %s", offer.name, error)
            raise service_unavailable(f"sessions of {offer.name} can't be held now", RETRY_S) from None
        self._runs[offer.name] = run
        for session_id in await asyncio.to_thread(run.find_committed, set(self._open)):
            await self._note_committed([session_id], None)
        return run

    def _plan(self, offer: Offer) -> Plan:
        """Makes the plan of an offer's run of sessions, without episodes.

        Errors: UserError for a mistake in the config.
        """
        service = self._config.service
        config = offer.config(
            self._config,
            run=RunSection(name=offer.name.replace(":", ".")),
            groups=GroupsSection(),  # each session is its own group, and is not played again: no caller would drive it
            output=self._config.output.model_copy(update={"dir": str(self._folder)}),
            service=ServiceSection(
                idle_s=service.idle_s,
                max_sessions=service.max_sessions,
                max_waiting_commands=service.max_waiting_commands,
                session_workers=service.session_workers,
            ),
        )
        return Plan.of(config, offer.name, engines=self._engines.__getitem__)

    async def _note_committed(self, ids: Sequence[str], file: str | None) -> None:
        """Notes that sessions are committed in a file (None: not known which), and wakes the calls that wait.

        Their files in the registry are deleted. Errors: OSError.
        """
        for session_id in ids:
            registered = self._open.pop(session_id, None)
            if registered is not None:
                self._ended[session_id], self._files[session_id] = registered, file
                if (awaited := self._commits.pop(session_id, None)) is not None:
                    awaited.set()
        while len(self._ended) > REMEMBERED:
            del self._files[self._ended.popitem(last=False)[0]]
        await asyncio.to_thread(self._forget, ids)

    def _forget(self, ids: Sequence[str]) -> None:
        for session_id in ids:
            self._registry.remove(session_id)


def _spec(session_id: str, request: SessionRequest, environment: Environment[Any, Any]) -> EpisodeSpec:
    """Makes the spec of a session's episode, with the given task or a generated one.

    Errors: Refused (422) for a wrong task, or if none can be generated.
    """
    try:
        if request.task is None:
            placed = list(generate_tasks(environment, request.seed, 1))
        else:
            placed = [("task", task_of(FileRow.given("task", 0, request.task), environment))]
    except BadRow as error:
        raise unprocessable_content("\n".join(f"task.{problem}" for problem in error.problems), "task") from None
    except UserError as error:
        raise unprocessable_content(str(error).removeprefix("tasks.generate: "), "task") from None
    [row] = with_ids(placed)
    seed = derive_seed(request.seed, "session", row.task_id)
    return EpisodeSpec(session_id, session_id, row.task_id, 0, seed, row.task)


def _unknown_spec(session_id: str) -> EpisodeSpec:
    """Returns a spec without a task, for a session that counts as open while it is being opened."""
    return EpisodeSpec(session_id, session_id, "", 0, 0, "")
