"""Runs the gateway's application in this process, with a session of the bazaar behind it: no Ray, no worker, no port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anthropic
import httpx
import httpx2
import openai
from bazaar import Bazaar, Speller, echo
from fastapi import FastAPI
from gateway_app import SECRET, TOKENS

from ray_gym import Environment
from ray_gym.config.sections import LimitsSection, ParticipantSection, ServiceSection, TokensSection
from ray_gym.deployments.gateway.app import AppSlots, make_app
from ray_gym.deployments.gateway.doors.door_targets import ModelTarget
from ray_gym.deployments.gateway.doors.messages_door import messages_router
from ray_gym.deployments.gateway.doors.openai_door import openai_router
from ray_gym.deployments.gateway.doors.session_router import SessionRouter
from ray_gym.deployments.gateway.doors.sessions import session_routes
from ray_gym.deployments.gateway.guards.auth import Doorkeeper, caller_of
from ray_gym.deployments.gateway.guards.tokens import digests
from ray_gym.deployments.gateway.metrics import Metrics
from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.journal.call_log import CallLog
from ray_gym.models.base import CompletionRequest
from ray_gym.play.session import CommandSession
from ray_gym.record.rows import row_of
from ray_gym.service.sessions.session_table import SessionTable

SESSION = "a-session"
HOST = "http://localhost"
PATH = f"/v1/sessions/{SESSION}/mcp"
"""Path of the session's MCP server."""


class CountingSpeller(Speller):
    """Counts the characters of the last message, in place of a prompt's tokens."""

    counts_tokens = True

    async def count_tokens(self, request: CompletionRequest) -> int:
        return len(request.messages[-1].content)


class NearRouter(SessionRouter):
    """Calls a session table in this process."""

    def __init__(self, table: SessionTable) -> None:
        super().__init__(cast(Any, None))
        self._table = table

    async def call_worker(self, caller: str, session_id: str, method: str, *arguments: Any) -> Any:
        return await getattr(self._table, method)(session_id, *arguments)


@dataclass(frozen=True)
class Door:
    app: FastAPI
    session: CommandSession
    table: SessionTable
    key: str
    """Key of the session."""

    def web(self, token: str | None = None) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=HOST, headers=headers)

    def anthropic(self, in_session: bool = True) -> anthropic.AsyncAnthropic:
        path, key = (f"/v1/sessions/{SESSION}/anthropic", self.key) if in_session else ("", TOKENS["alice"])
        web = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=self.app))
        return anthropic.AsyncAnthropic(api_key=key, base_url=HOST + path, http_client=web, max_retries=0)

    def openai(self) -> openai.AsyncOpenAI:
        base_url = f"{HOST}/v1/sessions/{SESSION}/openai"
        return openai.AsyncOpenAI(api_key=self.key, base_url=base_url, http_client=self.web(), max_retries=0)

    async def row(self) -> dict[str, Any]:
        """Ends and scores the session, and returns its record."""
        await self.table.score(SESSION, "end")
        assert self.session.played is not None
        return row_of(self.session.played, "run", "bazaar")


@asynccontextmanager
async def opened(
    folder: Path, script: Any = None, environment: Environment[Any, Any] | None = None
) -> AsyncIterator[Door]:
    """Opens the door. `folder`: empty, for the notes of the model. `script`: model that answers in place of `echo`.
    `environment`: that of the session, by default the bazaar.
    """
    limits = LimitsSection(max_turns=50, max_steps_per_turn=50)
    cast_ = {name: Participant.from_config(name, ParticipantSection(model="m"), limits) for name in ("policy", "user")}
    model = CountingSpeller(script or ScriptedModel(echo, {"notes": str(folder)}, 0))
    spec = EpisodeSpec(SESSION, "g", "t", 0, 7, "{}")
    session = CommandSession(spec, Stage(environment or Bazaar(), cast_, {"m": model}, limits), CallLog(SESSION))
    table = SessionTable("bazaar", 60)
    hosting = asyncio.create_task(table.host(SESSION, session))
    await table.find(SESSION)
    doorkeeper = Doorkeeper(SECRET, digests(SECRET, TOKENS))
    settings = ServiceSection(tokens=TokensSection(env="GIVEN"))
    slots = AppSlots.of(settings)
    targets = {"small": ModelTarget(model, 5), "mute": ModelTarget(ScriptedModel(echo, {"notes": str(folder)}, 0), 5)}
    routers = [
        session_routes(NearRouter(table), caller_of, doorkeeper.session_key),
        openai_router(targets, {}, lambda request: str(request.state.caller)),
        messages_router(targets, lambda request: str(request.state.caller)),
    ]
    app = make_app(settings, doorkeeper, Metrics("g1", slots.requests, slots.streams), slots, routers)
    try:
        yield Door(app, session, table, doorkeeper.session_key("alice", SESSION))
    finally:
        hosting.cancel()
        await asyncio.gather(hosting, return_exceptions=True)
