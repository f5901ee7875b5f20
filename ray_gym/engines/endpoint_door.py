"""Forwards requests in OpenAI's formats to a model that is an endpoint, under the model's name there and with the
service's API key.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import aiohttp

from ray_gym.engines.endpoint import (
    CONNECT_TIMEOUT_S,
    EndpointOptions,
    error_text,
    headers_for,
    read_retry_after,
    shown_error,
)
from ray_gym.engines.proxied import open_session
from ray_gym.engines.refusals import RETRY_AFTER_S, refusal_of
from ray_gym.errors import describe
from ray_gym.models.door import DoorHead, DoorPart, DoorRequest
from ray_gym.openai_api.refused import Refused, service_unavailable, too_many_requests
from ray_gym.openai_api.rules import require_offered
from ray_gym.proxies import proxy_to

WHOLE_S = 3600.0
"""Largest number of seconds that a whole answer may take."""
WAITING_S = 30.0
"""Largest number of seconds that a request may wait for one of `max_connections`."""
MOST_BYTES = 64 * 2**20
"""Largest number of bytes in one answer."""
LONGEST_ERROR = 2**20
"""Largest number of bytes that are read of an error answer."""


class EndpointDoor:
    """Forwards requests in OpenAI's formats to an endpoint. It is safe for many concurrent calls on one event loop.
    Nothing is retried: the caller may have part of an answer already.
    """

    def __init__(self, options: EndpointOptions, key: str | None, extra: Mapping[str, Any] | None = None) -> None:
        """Creates a door that connects at its first call.

        `key`: the API key; None means that none is sent. `extra`: fields that are set in every request, in place of the
        caller's.
        """
        self._model = options.model
        self._key = key
        self._extra = dict(extra or {})
        self._options = options
        self._base_url = options.base_url
        self._session: aiohttp.ClientSession | None = None
        self._timeout = aiohttp.ClientTimeout(
            total=WHOLE_S, connect=WAITING_S, sock_connect=CONNECT_TIMEOUT_S, sock_read=options.timeout_s
        )

    async def answer(self, request: DoorRequest, session_id: str) -> AsyncGenerator[DoorPart, None]:
        """Yields the parts of the endpoint's answer: its head, then the pieces of its body. If the generator is closed
        early, the connection is closed, which ends the generation there.

        Errors: Refused: 400 for a field that is not offered, and for a request that the endpoint refuses; 429 if no
        connection becomes free or is made in time, or the endpoint answers 429; 502 if it refuses the service's key or
        redirects, or the answer is too long; 503 if it fails, can't be reached, or is silent for too long. What the caller
        is not told of these is a note of the error.
        """
        body = await asyncio.to_thread(self._body, request)
        headers = {"Content-Type": "application/json"} | ({"X-Session-Id": session_id} if session_id else {})
        path = request.path.removeprefix("/v1")
        try:
            async with self._get_session().post(
                f"{self._base_url}{path}", data=body, headers=headers, allow_redirects=False, timeout=self._timeout
            ) as response:
                if response.status != 200:
                    raise self._refusal(response, path, await response.content.read(LONGEST_ERROR))
                yield DoorHead(200, response.content_type)
                size = 0
                async for piece in response.content.iter_any():
                    if (size := size + len(piece)) > MOST_BYTES:
                        raise Refused(502, "model_failed", f"the answer is longer than {MOST_BYTES} bytes")
                    yield piece
        except aiohttp.ConnectionTimeoutError:
            raise too_many_requests(
                "no connection to the model's endpoint became free, or was made, in time", RETRY_AFTER_S
            ) from None
        except TimeoutError:
            raise service_unavailable("the model's endpoint did not answer in time", RETRY_AFTER_S) from None
        except (aiohttp.ClientError, OSError) as error:
            refused = service_unavailable("the model's endpoint can't be reached", RETRY_AFTER_S)
            refused.add_note(shown_error(describe(error), self._key))
            raise refused from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _get_session(self) -> aiohttp.ClientSession:
        """Returns the aiohttp client session, which is opened at the first call."""
        if self._session is None:
            proxy = proxy_to(self._base_url)
            self._session = open_session(headers_for(self._key), proxy, **self._options.limits())
        return self._session

    def _body(self, request: DoorRequest) -> bytes:
        """Returns the JSON body that the endpoint gets: the caller's fields, the `extra` fields, and the model's name
        there. Nothing is stored there: `store` is left out, or false for a response. Errors: Refused (400) for a field
        that is not offered.
        """
        asked = json.loads(request.body)
        require_offered(asked)
        asked.pop("store", None)
        if request.path.endswith("/responses"):
            asked["store"] = False  # all callers could read answers that are stored under the service's key
        return json.dumps({**asked, **self._extra, "model": self._model}).encode()

    def _refusal(self, response: aiohttp.ClientResponse, path: str, content: bytes) -> Refused:
        """Returns the error that the caller gets for an endpoint's answer with a status other than 200. `path`: that of
        the request, below /v1. The API key is masked in it, and in its note, which has the words that are not for the caller.
        """
        body, retry_after = content.decode(errors="replace"), response.headers.get("Retry-After")
        shown = shown_error(error_text(body), self._key)
        refused = refusal_of(response.status, path, body, shown, read_retry_after(retry_after))
        if refused.status >= 500:
            refused.add_note(f"HTTP {response.status}: {shown}")
        return refused
