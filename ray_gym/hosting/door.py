"""Sends requests in OpenAI's formats to a replica of a model, and streams its answer back piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from ray import exceptions as ray_errors
from ray import serve
from ray.serve.exceptions import BackPressureError

from ray_gym.hosting.unreachable import UNREACHABLE
from ray_gym.models.door import DoorPart, DoorRequest
from ray_gym.openai_api.refused import Refused, service_unavailable, too_many_requests

RETRY_AFTER_S = 5.0
"""Seconds after which a caller should retry: a replica that died is replaced in about that time (measured)."""


class ServeDoor:
    """Forwards requests in OpenAI's formats to the replicas of the Serve application `app`.

    It keeps one Serve handle, and so one router. Nothing is retried: the caller may have part of an answer already.
    """

    def __init__(self, app: str, silence_s: float) -> None:
        """Creates a door that gets its handle at the first call.

        `silence_s`: seconds for which a replica may send nothing before its call fails. An answer that is not streamed
        comes in one piece, so it has to be complete within that time.
        """
        self._app = app
        self._silence_s = silence_s
        self._handle: Any = None
        self._opening = asyncio.Lock()

    async def answer(self, request: DoorRequest, session_id: str) -> AsyncGenerator[DoorPart, None]:
        """Yields the parts of a replica's answer: its head, then the pieces of its body. Calls with the same
        `session_id` reach the same replica. If the generator is closed early, the call is cancelled at the replica.

        Errors: Refused: the one that the replica raised; 429 if too many calls wait; 503 if no replica can be reached,
        or the replica is silent for `silence_s` seconds or raises another exception.
        """
        response: Any = None
        try:
            async with asyncio.timeout(self._silence_s):
                handle = await self._open()
            response = handle.options(session_id=session_id).openai.remote(request)
            while True:
                async with asyncio.timeout(self._silence_s):
                    part: DoorPart = await anext(response)
                yield part
        except StopAsyncIteration:
            response = None
        except TimeoutError:
            raise service_unavailable(f"no replica answered within {self._silence_s:g} s", RETRY_AFTER_S) from None
        except BackPressureError:
            raise too_many_requests("too many requests wait for this model", RETRY_AFTER_S) from None
        except ray_errors.RayTaskError as error:
            raise _refusal_of(error.cause) from error
        except UNREACHABLE as error:
            raise service_unavailable("no replica of the model can be reached", RETRY_AFTER_S) from error
        finally:
            if response is not None:
                response.cancel()  # otherwise the replica would go on generating

    async def _open(self) -> Any:
        async with self._opening:
            if self._handle is None:
                handle = await asyncio.to_thread(serve.get_app_handle, self._app)
                self._handle = handle.options(session_id="", stream=True)
            return self._handle


def _refusal_of(cause: Any) -> Refused:
    """Returns the refusal for a replica's error `cause`: the error itself if it is a Refused, 429 if too many calls
    wait, else 503.
    """
    if isinstance(cause, Refused):
        return cause
    if isinstance(cause, BackPressureError):
        return too_many_requests("too many requests wait for this model", RETRY_AFTER_S)
    return service_unavailable("the model failed", RETRY_AFTER_S)
