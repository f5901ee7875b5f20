"""Plays resources servers of NeMo Gym over HTTP, as its own agents do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from ray_gym import Environment, Episode, EpisodeFailure, FailureKind, Participant, Score, Tool, ToolError
from ray_gym.environment import Options
from ray_gym.envs.nemo_gym.gymnasium import GymnasiumSteps
from ray_gym.envs.nemo_gym.headers import Headers
from ray_gym.envs.nemo_gym.response import response_of
from ray_gym.envs.nemo_gym.row import NemoRow
from ray_gym.envs.nemo_gym.server import ResourcesServer
from ray_gym.envs.nemo_gym.session import NemoSession
from ray_gym.envs.nemo_gym.verdict import score_of, why
from ray_gym.errors import UserError
from ray_gym.proxies import require_proxy
from ray_gym.tools.answer import WhenLost
from ray_gym.tools.arguments import ArgumentsBySchema
from ray_gym.web_addresses import split_address

ANY_OBJECT = ArgumentsBySchema({"type": "object"})
"""Arguments that accept any object, because the server checks them itself."""


class NemoOptions(Options):
    """Says where the server is, and how it is called."""

    base_url: str
    """Address of the resources server: http://host:port."""
    style: Literal["auto", "tools", "gymnasium"] = "auto"
    """tools: /seed_session, a route a tool, /verify; gymnasium: /reset and /step; auto: by the server's own OpenAPI."""
    timeout_s: Annotated[float, Field(gt=0)] = 300
    """Seconds for one call."""
    retries: Annotated[int, Field(ge=0)] = 5
    """Number of retries of a call that may be made again."""
    headers: Mapping[str, str] = {}
    """Headers that are sent with every call."""
    header_env: Mapping[str, str] = {}
    """Headers whose values, which are secrets, are taken from these environment variables."""
    when_lost: WhenLost = "fail"
    """Rule for a call or step that was under way when its worker died, since the server may have carried it out or
    not."""
    survives_restart: bool = False
    """True if the server keeps its sessions, or has none. Then an episode may continue after the server was down for a
    while."""
    reward_range: tuple[float, float] = (0.0, 1.0)
    """Lowest and highest reward that the server gives."""

    @field_validator("base_url")
    @classmethod
    def _check_address(cls, value: str) -> str:
        parts = split_address(value, "http://host:8000")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("only scheme, host, port and path go here; secrets go into header_env")
        return parts.geturl().rstrip("/")


class NemoGym(Environment[NemoRow, NemoSession]):
    """Plays a resources server of NeMo Gym over HTTP, with its data as it is."""

    opens_outside = True
    pattern = "multi-step"
    scoring = "the server's"
    Options = NemoOptions

    def __init__(self, options: NemoOptions) -> None:
        super().__init__(options)
        self.reward_range = options.reward_range
        headers = Headers.read(options.headers, options.header_env)
        self.server = ResourcesServer(options.base_url, headers, options.timeout_s, options.retries)

    async def prepare_worker(self) -> None:
        try:
            require_proxy(self.options.base_url)
        except ValueError as error:
            raise UserError(f"environment.base_url: {error}") from None

    async def close(self) -> None:
        await self.server.close()

    async def setup(self, task: NemoRow, episode: Episode) -> NemoSession:
        options = self.options
        session = NemoSession(episode, self.server, options.when_lost, options.survives_restart)
        async with _close_on_failure(session):
            await session.begin(task.row, None if options.style == "auto" else options.style)
            session.steps = GymnasiumSteps(session, task) if session.style == "gymnasium" else None
            if not task.messages and not (session.steps and session.steps.observation):
                problem = "neither its input nor the server says anything to the policy"
                raise EpisodeFailure(FailureKind.DATA, "task.row", problem)
        return session

    def tools_for(self, task: NemoRow, state: NemoSession) -> Sequence[Tool]:
        """Returns the row's tools. No tool is marked `takes_time`, because the effects in them are recorded in their
        order.
        """
        return [Tool(schema, ANY_OBJECT, method=self.call_route) for schema in task.tools()]

    async def call_route(self, state: NemoSession, caller: Participant, name: str, arguments: dict[str, Any]) -> str:
        """Carries out a call of any tool of a row, and returns the server's answer as text. Under the gymnasium style,
        the answer is this call's result of the step, or "".

        Errors: EpisodeFailure if the server can't be reached; ToolError, which the model is told, if a route answers
        with a status from 400 on.
        """
        if state.steps is not None:
            return await state.steps.result_of_call()
        answer = await state.post(f"/{name}", arguments)
        if answer.status >= 400:
            raise ToolError(self.server.explain(answer), content=self.server.headers.hide(answer.text))
        return answer.text

    async def run(self, episode: Episode) -> None:
        async with _close_on_failure(episode.state):
            if episode.state.steps is None:
                await super().run(episode)
            else:
                await episode.state.steps.play()

    def finished(self, state: NemoSession, episode: Episode) -> str | None:
        return state.steps.outcome if state.steps is not None else None

    async def score(self, state: NemoSession, episode: Episode) -> Score:
        async with _close_on_failure(state):
            score, reasons = await (self._verify(state, episode) if state.steps is None else state.steps.score())
        episode.record_verdict("nemo_gym", score.reward, reasons)
        await state.close()
        return score

    async def _verify(self, state: NemoSession, episode: Episode) -> tuple[Score, str]:
        task: NemoRow = episode.task
        asked = {**task.row, "response": response_of(episode, episode.events, task.tools())}
        verdict = state.read_object("/verify", await state.post("/verify", asked, repeatable=True))
        hide = self.server.headers.hide
        return score_of(verdict, asked, state.where("/verify"), hide), why(verdict, asked, hide)


@asynccontextmanager
async def _close_on_failure(session: NemoSession) -> AsyncIterator[None]:
    """Closes the session of an episode that fails. An episode that is only interrupted is resumed elsewhere with the
    same session.
    """
    try:
        yield
    except EpisodeFailure:
        await session.close()
        raise
