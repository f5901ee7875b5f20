"""Sends a client's requests on one connection, counts the answers, and waits if the service says so."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from benchmarks.service_load.counts import RequestCounts, WrongAnswer

ANSWER_S = 120.0
BUSY = (429, 503)


class ClientConnection:
    """Sends the requests of one client over one HTTP connection."""

    def __init__(self, http: aiohttp.ClientSession, counts: RequestCounts) -> None:
        self._http = http
        self._counts = counts

    @staticmethod
    @asynccontextmanager
    async def to(address: str, counts: RequestCounts) -> AsyncIterator[ClientConnection]:
        """Yields a client of the service at `address`, which has at most one connection, and closes it after the block."""
        connector, timeout = aiohttp.TCPConnector(limit=1, keepalive_timeout=60), aiohttp.ClientTimeout(total=ANSWER_S)
        async with aiohttp.ClientSession(address, connector=connector, timeout=timeout) as http:
            yield ClientConnection(http, counts)

    async def ask(
        self, route: str, path: str, body: dict[str, Any] | None = None, *, key: str | None = None
    ) -> dict[str, Any]:
        """Makes a request and returns the JSON of the answer; an empty dictionary for an empty answer.

        While the service answers 429 or 503 with `Retry-After`, it waits and makes the request again. `route` is the
        HTTP method and the form of the path; answers are counted under it. `key`: idempotency key of a POST; None: a
        random one. Errors: WrongAnswer for any other status from 300 on, or without an answer.
        """
        headers = {"Idempotency-Key": key or secrets.token_hex(16)} if route.startswith("POST") else {}
        while True:
            began = time.monotonic()
            try:
                async with self._http.request(route.partition(" ")[0], path, json=body, headers=headers) as answer:
                    text = await answer.text()
            except (aiohttp.ClientError, TimeoutError) as error:
                raise WrongAnswer(f"{route}: {type(error).__name__}: {error}") from None
            self._counts.count_answer(route, answer.status, time.monotonic() - began)
            if answer.status in BUSY and "Retry-After" in answer.headers:
                await asyncio.sleep(float(answer.headers["Retry-After"]))
                continue
            if answer.status >= 300:
                raise WrongAnswer(f"{route}: {answer.status}: {text[:300]}")
            answered: dict[str, Any] = json.loads(text) if text else {}
            return answered
