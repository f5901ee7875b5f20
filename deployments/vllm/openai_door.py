"""Answers requests in OpenAI's formats at a replica, by vLLM's own server in its process; only the paths that generate
are open.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from fastapi import FastAPI

from ray_gym.deployments.vllm import in_process
from ray_gym.deployments.vllm.grammar_gate import GrammarGate, GrammarRefused, outputs_of
from ray_gym.deployments.vllm.openai_rules import check_body, known_fields
from ray_gym.models.door import PATHS, DoorHead, DoorPart, DoorRequest
from ray_gym.openai_api.refused import Refused, bad_request, service_unavailable
from ray_gym.service.api import ErrorAnswer, Problem

JSON = "application/json"


class OpenAIDoor:
    """Answers requests in OpenAI's formats by an app that is built at the first one, since most replicas get none. It
    is safe for many concurrent calls on one event loop.
    """

    def __init__(
        self, name: str, build: Callable[[], Awaitable[FastAPI]], takes_seeds: bool, gate: GrammarGate
    ) -> None:
        """Creates the door without the app.

        `name`: the model's name in the app. `build`: builds the app. `takes_seeds`: True if the model takes seeds of
        requests. `gate`: checks the grammars of requests.
        """
        self._name = name
        self._gate = gate
        self._build = build
        self._takes_seeds = takes_seeds
        self._app: FastAPI | None = None
        self._building = asyncio.Lock()

    async def answer(self, request: DoorRequest) -> AsyncGenerator[DoorPart, None]:
        """Yields the parts of an answer: its head, then its body. Refusals, and failures of the app, are answers with
        an error, too. If the generator is closed early, the generation is aborted. Errors: those that building the app
        raises.
        """
        try:
            if request.path not in PATHS:
                raise Refused(404, "not_found", f"there is no path {request.path}")
            body = check_body(request.body, self._name, self._takes_seeds, known_fields(request.path))
            for outputs in outputs_of(json.loads(body)):
                await self._gate.admit(outputs)
            app = await self._get_app()
        except GrammarRefused as refused:
            for part in _refusal_parts(bad_request(str(refused))):
                yield part
            return
        except Refused as refused:
            for part in _refusal_parts(refused):
                yield part
            return
        answered = False
        async with aclosing(in_process.call(app, DoorRequest(request.path, body))) as parts:
            async for part in parts:
                answered = True
                yield part
        if not answered:
            for part in _refusal_parts(service_unavailable("the model's server failed")):
                yield part

    async def _get_app(self) -> FastAPI:
        async with self._building:
            if self._app is None:
                self._app = await self._build()
            return self._app


def _refusal_parts(refused: Refused) -> tuple[DoorHead, bytes]:
    kind = "invalid_request_error" if refused.status < 500 else "server_error"
    problem = Problem(message=refused.message, type=kind, code=refused.code, param=refused.param)
    return DoorHead(refused.status, JSON), ErrorAnswer(error=problem).model_dump_json().encode()
