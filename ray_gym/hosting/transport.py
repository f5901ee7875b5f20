"""Sends a request to a replica of a model that Ray Serve hosts.

The request goes in a batch with others of its process (`ray_gym.hosting.lanes`), or alone, by Serve's handle. Callers
don't see which.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any

import msgspec
from ray import exceptions as ray_errors
from ray import serve
from ray.serve.schema import ApplicationStatus

from ray_gym.aio.backoff import pauses
from ray_gym.aio.clock import exclude
from ray_gym.aio.deadlines import note_lost_try
from ray_gym.errors import EpisodeFailure, FailureKind, describe
from ray_gym.hosting import tls
from ray_gym.hosting.admission import AdmissionLimits, ReplicaLoad, room
from ray_gym.hosting.affinity import Affinity, Transport, routing_key
from ray_gym.hosting.lanes.lane import ReplicaBroken
from ray_gym.hosting.lanes.lanes import Lanes
from ray_gym.hosting.unreachable import UNREACHABLE
from ray_gym.models.base import Completion, CompletionRequest

LOOK_S = 5.0
"""Seconds between two checks of a process whether its application is still up, while calls wait for answers: replicas
of a deleted application would never answer.
"""
FIRST_PAUSE_S = 0.2
"""Longest pause between the first and the second try of a call, in seconds; it doubles for each further try."""
LONGEST_PAUSE_S = 6.0
"""Longest pause between two tries of a call, in seconds."""
PATIENCE_S = 30.0
"""Sum of the pauses between the tries of one call, in seconds, after which it fails. A replica that died is replaced in
about 6 s (measured).
"""

COUNT_S = 30.0
"""Seconds within which a replica has to count the tokens of a prompt."""


class ServeModel:
    """Calls a model whose replicas are a Serve application. It retries calls whose replica is gone, and is safe for
    many concurrent calls on one event loop.

    It keeps one Serve handle, and so one router.
    """

    def __init__(
        self,
        app: str,
        affinity: Affinity = "none",
        limits: AdmissionLimits | None = None,
        *,
        transport: Transport,
        line: str = "",
        counts_tokens: bool = False,
    ) -> None:
        """Creates a model that opens its connections at the first call.

        `app`: name of the application. `affinity`: tells which calls should reach the same replica. `limits`: limits
        above which no new episode may begin; None means that they may always begin. `transport`: `batched` or `handle`,
        as the application was deployed; if Ray uses TLS, calls go by Serve's handle in any case. `line`: line of
        adapters that all calls are for; "" for the model's own weights. `counts_tokens`: True if the replicas have a
        method of that name.
        """
        self.counts_tokens = counts_tokens
        self._app = app
        self._transport = tls.choose_transport(transport)
        self._affinity = affinity
        self._limits = limits
        self._line = line
        self._handle: Any = None
        self._lanes: Lanes | None = None
        self._opening = asyncio.Lock()
        self._looked_at = 0.0
        self._context_tokens: int | None = None
        self._is_described = False
        """True once a replica has told the length of the context, or that it knows none."""

    @property
    def is_gated(self) -> bool:
        return self._limits is not None

    async def room(self, conversations: float) -> float:
        """Returns how many more episodes may begin while `conversations` are in flight.

        It is 0 if a replica exceeds a limit of its load, and also if the replicas do not answer within `LOOK_S`
        seconds, since they are busy. It is infinite without limits, and if the application can't be reached: then the
        calls of the episodes fail with the reason.
        """
        if self._limits is None:
            return math.inf
        try:
            response = (await self._open()).broadcast("load")
            loads = await response.results_async(timeout_s=LOOK_S, return_exceptions=True)
        except (TimeoutError, ray_errors.GetTimeoutError):
            return 0
        except (ray_errors.RayTaskError, *UNREACHABLE):
            return math.inf
        return room([load for load in loads if isinstance(load, ReplicaLoad)], conversations, self._limits)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the completion of a request. A call whose replica is gone is retried until the pauses between the
        tries add up to `PATIENCE_S` seconds. The failed tries and the pauses are left out of the episode's clock.

        Errors: EpisodeFailure (infra) if no replica answers, the application is gone, or the replica's code raises an
        unexpected error; an EpisodeFailure that the model raised is passed on.
        """
        if self._line:
            request = msgspec.structs.replace(request, line=self._line)
        for wait_s in pauses(FIRST_PAUSE_S, LONGEST_PAUSE_S, PATIENCE_S):
            began = time.monotonic()
            try:
                handle = await self._open()
                if self._lanes is not None:
                    return await self._lanes.complete(request, routing_key(request, self._affinity))
                return await self._call(handle, request)
            except ReplicaBroken as error:
                raise self._failure(str(error)) from None
            except ray_errors.RayTaskError as error:
                last: BaseException = error.cause or error  # what the replica raised
                if isinstance(last, EpisodeFailure):
                    raise last from None
                if not isinstance(last, UNREACHABLE):
                    raise self._failure(describe(last)) from error
            except UNREACHABLE as error:
                last = error
            await self._look()
            exclude(began, wait_s)
            note_lost_try(describe(last))
            await asyncio.sleep(wait_s)
        raise self._failure(f"no answer after {PATIENCE_S:g} s of retries: {describe(last)}") from last

    async def count_tokens(self, request: CompletionRequest) -> int:
        """Returns the number of tokens of a request's prompt, as a replica counts them. Nothing is retried.

        Errors: EpisodeFailure (infra) if no replica answers within `COUNT_S` seconds; one that the model raised is
        passed on.
        """
        try:
            async with asyncio.timeout(COUNT_S):
                handle = await self._open()
                tokens: int = await handle.count_tokens.remote(request)
                return tokens
        except ray_errors.RayTaskError as error:
            if isinstance(error.cause, EpisodeFailure):
                raise error.cause from None
            raise self._failure(describe(error.cause or error)) from error
        except (TimeoutError, *UNREACHABLE) as error:
            raise self._failure(describe(error)) from error

    async def context_tokens(self) -> int | None:
        """Returns the length of the model's context, as a replica tells it once; None if none answers within `COUNT_S`
        seconds, or if the replicas don't know it.
        """
        if not self._is_described:
            try:
                async with asyncio.timeout(COUNT_S):
                    description = await (await self._open()).describe.remote()
                self._context_tokens, self._is_described = description.get("max_model_len"), True
            except (TimeoutError, ray_errors.RayTaskError, *UNREACHABLE):
                return None
        return self._context_tokens

    async def _open(self) -> Any:
        """Returns Serve's handle of the application. The first call creates it, and also the lanes if calls are
        batched. Copies of the handle made by `options` share its router.

        Errors: RayServeException if Serve has no such application.
        """
        async with self._opening:
            if self._handle is None:
                handle = await asyncio.to_thread(serve.get_app_handle, self._app)
                self._handle = handle.options(session_id="")
                if self._lanes is not None:
                    await self._lanes.close()
                self._lanes = Lanes(self._handle, self._look) if self._transport == "batched" else None
            return self._handle

    async def _call(self, handle: Any, request: CompletionRequest) -> Completion:
        """Returns the completion of one call by the handle, without retries. If this coroutine is cancelled, the call
        is cancelled at its replica.

        Errors: those that Serve or the replica raised; EpisodeFailure (infra) if the application is gone.
        """
        if key := routing_key(request, self._affinity):
            handle = handle.options(session_id=key)
        response = handle.complete.remote(request)
        answer = asyncio.ensure_future(_await_answer(response))
        try:
            while not answer.done():
                await asyncio.wait({answer}, timeout=LOOK_S)
                if not answer.done():
                    await self._look()
            return answer.result()
        finally:
            if not answer.done():
                response.cancel()  # otherwise the replica would go on generating
                answer.cancel()

    async def _look(self) -> None:
        """Checks that the application is up, at most once in `LOOK_S` seconds, however many calls wait. If Serve does
        not answer, nothing is decided.

        Errors: EpisodeFailure (infra) if the application is gone.
        """
        if time.monotonic() - self._looked_at < LOOK_S:
            return
        self._looked_at = time.monotonic()
        try:
            async with asyncio.timeout(LOOK_S):
                application = (await asyncio.to_thread(serve.status)).applications.get(self._app)
        except (TimeoutError, ray_errors.RayTaskError, *UNREACHABLE):
            return  # the controller does not answer while it restarts
        if application is None or application.status == ApplicationStatus.DELETING:
            self._looked_at = 0.0  # so that all other waiting calls fail as well,
            self._handle = None  # and all later calls: with an old handle they would wait for replicas
            raise self._failure("the application is not up any more; was it deleted?", retry=False)

    def _failure(self, message: str, retry: bool = True) -> EpisodeFailure:
        return EpisodeFailure(FailureKind.INFRA, f"model app {self._app}", message, retry)

    async def close(self) -> None:
        lanes, self._handle, self._lanes = self._lanes, None, None
        if lanes is not None:
            await lanes.close()


async def _await_answer(response: Any) -> Completion:
    """Returns the answer to a call by a handle.

    Errors: those that the replica raised; CancelledError if this task was cancelled; TaskCancelledError if the call was
    cancelled elsewhere.
    """
    try:
        answer: Completion = await response
        return answer
    except (asyncio.CancelledError, ray_errors.TaskCancelledError):
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError from None
        raise ray_errors.TaskCancelledError(error_message="by its replica") from None
