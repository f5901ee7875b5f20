"""Imitates a resources server, for what real ones don't do on demand: failures, silence, outages.

It keeps a counter a session, under a cookie that changes with every answer, as signed ones do. `fail` says how the next calls of a
path go wrong. The real protocol is tested with real servers, in test_nemo_gym_servers.py.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = dict[str, Any]


@dataclass
class Call:
    path: str
    body: Any
    session: str
    headers: Mapping[str, str]


@dataclass
class NemoDouble:
    """Imitates a server of NeMo Gym.

    `paths`: the paths that its description lists, with whether a body is required; None: it has no description.
    """

    paths: dict[str, bool] | None = None
    calls: list[Call] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)
    closed: list[str] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    """By path: the answer, or a list of them in order, in the place of its own."""
    told: Json = field(default_factory=dict)
    """Fields that failing answers have besides their own."""
    stuck: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a call hangs or is late."""
    port: int = 0
    _failures: dict[str, deque[int | str]] = field(default_factory=lambda: defaultdict(deque))
    _serials: Counter[str] = field(default_factory=Counter)
    _sessions: int = 0
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def fail(self, path: str, *how: int | str) -> None:
        """Makes the next calls of a path fail, each in one of these ways.

        A status; `drop` (carried out, then the connection is lost); `late` (carried out, no answer); `hang` (neither).
        """
        self._failures[path].extend(how)

    def called(self, path: str) -> list[Call]:
        return [call for call in self.calls if call.path == path]

    async def __aenter__(self) -> NemoDouble:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path == "/openapi.json":
            return self._description()
        session = self._session_of(request)
        body = json.loads(await request.text() or "null")
        self.calls.append(Call(path, body, session, request.headers))
        how = self._failures[path].popleft() if self._failures[path] else 200
        if how == "hang":
            await self._hang()
        if how in (200, "drop", "late"):
            status, answer = self._carry_out(path, body, session)
        else:
            status, answer = int(how), {"detail": f"it said {how}"} | self.told
        if how == "late":
            await self._hang()
        if how == "drop":
            assert request.transport is not None
            request.transport.abort()
        response = web.json_response(answer, status=status)
        if how != 200:
            return response
        self._serials[session] += 1
        response.headers["Set-Cookie"] = f"sid={session}.{self._serials[session]}=; Path=/; HttpOnly"
        return response

    async def _hang(self) -> None:
        self.stuck.set()
        await asyncio.sleep(60)

    def _description(self) -> web.Response:
        if self.paths is None:
            return web.json_response({}, status=404)
        described = {path: {"post": {"requestBody": {"required": body}}} for path, body in self.paths.items()}
        return web.json_response({"paths": described})

    def _session_of(self, request: web.Request) -> str:
        """Returns the session of a request. Errors: AssertionError if it sends an old cookie of that session."""
        sent = request.headers.get("Cookie")
        if sent is None:
            self._sessions += 1
            return f"s{self._sessions}"
        session = sent.removeprefix("sid=").split(".")[0]
        assert sent == f"sid={session}.{self._serials[session]}=", (sent, self._serials[session])
        return session

    def _carry_out(self, path: str, body: Any, session: str) -> tuple[int, Any]:
        if path in self.answers:
            given = self.answers[path]
            return 200, given.pop(0) if isinstance(given, list) else given
        if path == "/seed_session":
            self.counters[session] = body.get("initial_count", 0)
            return 200, {}
        if path == "/increment_counter":
            if not isinstance(body.get("count"), int):
                return 422, {"detail": [{"loc": ["body", "count"], "msg": "not a number"}]}
            self.counters[session] += body["count"]
            return 200, {"success": True}
        if path == "/get_counter_value":
            return 200, {"count": self.counters[session]}
        if path == "/verify":
            return 200, {**body, "reward": float(self.counters[session] == body["expected_count"])}
        if path in ("/close_session", "/close"):
            self.closed.append(session)
            return 200, {}
        return 404, {"detail": "Not Found"}
