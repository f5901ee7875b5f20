"""How a request reaches a replica of a model that Ray Serve hosts.

The one place that knows: another router, or coalescing the requests of a worker, would be a change of this file.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Any

from ray import serve
from ray.exceptions import RayActorError, RayTaskError
from ray.serve.exceptions import BackPressureError, RayServeException

from ray_gym.errors import EpisodeFailure, FailureKind, describe
from ray_gym.models.base import Completion, CompletionRequest

ATTEMPTS = 8
"""A replica that died is back in about 6 s (measured); the waits of 8 attempts add up to about 25 s."""


def start_serve() -> None:
    """Serve without HTTP proxies (unless it is up with some): episodes reach models by handles, so no port is taken."""
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    serve.start(proxy_location="Disabled", logging_config={"log_level": "WARNING"})


class ServeModel:
    """A model behind a Serve application. One handle, and so one router, a process."""

    def __init__(self, app: str, sticky: bool) -> None:
        self._app = app
        self._sticky = sticky
        self._handle: Any = None
        self._opening = asyncio.Lock()

    async def complete(self, request: CompletionRequest) -> Completion:
        """Errors: EpisodeFailure (infra) when no replica answers, or the model's own failure."""
        handle = await self._open()
        if self._sticky:
            handle = handle.options(session_id=request.session_id)
        for attempt in range(ATTEMPTS):
            try:
                return await self._call(handle, request)
            except (BackPressureError, RayActorError, RayServeException) as error:
                last = error
                await asyncio.sleep(random.uniform(0.5, 1) * min(0.2 * 2**attempt, 8))
            except RayTaskError as error:
                cause = error.cause
                if isinstance(cause, EpisodeFailure):
                    raise cause from None
                raise EpisodeFailure(FailureKind.INFRA, f"model app {self._app}", describe(cause or error)) from error
        raise EpisodeFailure(FailureKind.INFRA, f"model app {self._app}", describe(last)) from last

    async def _open(self) -> Any:
        """The process's one handle. Its router is made with it: copies made by `options` share that one."""
        async with self._opening:
            if self._handle is None:
                handle = await asyncio.to_thread(serve.get_app_handle, self._app)
                self._handle = handle.options(session_id="")
        return self._handle

    async def _call(self, handle: Any, request: CompletionRequest) -> Completion:
        response = handle.complete.remote(request)
        try:
            answer: Completion = await response
            return answer
        except asyncio.CancelledError:
            response.cancel()  # otherwise the replica would generate on for nobody
            raise

    async def close(self) -> None:
        self._handle = None
