"""Drives one session on a resources server. Calls and answers are recorded, so that a replay calls nothing again.

The server's part of the session can't be made again. So an episode that is resumed elsewhere continues the same
session, by the cookies in the recorded answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ray_gym import Episode, EpisodeFailure, FailureKind, Score
from ray_gym.envs.nemo_gym.server import ResourcesServer, ServerAnswer
from ray_gym.tools.answer import WhenLost

Style = Literal["tools", "gymnasium"]
"""Protocol of a server, see `NemoOptions.style`."""
_GYMNASIUM = {"/reset", "/step"}
_BAD_ROW = (400, 422)


class Steps(Protocol):
    """Drives a session under the gymnasium style, in which every message of the policy is a step."""

    observation: str | None
    """Last observation; None before the first."""
    outcome: str | None
    """Reason for the end; None while the episode goes on."""

    async def play(self) -> None:
        """Plays turns of one message each, with a step after each, until the server or a limit ends the episode.
        Errors: EpisodeFailure if the step's call fails, or gives no reward.
        """

    async def result_of_call(self) -> str:
        """Returns the result of the tool call that is being carried out; "" if the server gives none. Errors:
        EpisodeFailure if the step's call fails, or gives no reward.
        """

    async def score(self) -> tuple[Score, str]:
        """Returns the score, and the findings in the server's last answer as JSON text. Errors: EpisodeFailure if a
        last step is left to take, and fails.
        """


@dataclass(slots=True)
class NemoSession:
    """The state of one episode is its session on the server."""

    episode: Episode
    server: ResourcesServer
    when_lost: WhenLost
    """Rule for a call that was under way when its worker died."""
    survives_restart: bool
    """True if the server's sessions survive its restart."""
    style: Style = "tools"
    """Protocol of the server."""
    close_path: str | None = None
    """Route that closes the session; None if the server has none."""
    cookies: dict[str, str] = field(default_factory=dict)
    """Cookies that the server has set, which name the session."""
    seeded: dict[str, Any] = field(default_factory=dict)
    """Object in the server's answer to the seeding."""
    steps: Steps | None = None
    """Steps under the gymnasium style, else None."""
    outages: int | None = None
    """Value of the server's `outages` when the session began; None before."""

    async def begin(self, row: Mapping[str, Any], style: Style | None) -> None:
        """Begins the session on the server with a row. `style`: the protocol; None takes it from the server's routes.

        Errors: EpisodeFailure (data) if the server refuses the row; of other kinds if it can't be reached or
        understood.
        """

        async def look(key: str) -> list[Any]:
            routes = await self.server.routes()
            return [style or _style(routes), _close_path(routes)]

        self.style, self.close_path = await self.episode.effect("look at the routes", look)
        path = "/reset" if self.style == "gymnasium" else "/seed_session"
        answer = await self.post(path, row, repeatable=True)
        self.seeded = self.read_object(path, answer)
        self.outages = self.server.outages

    async def post(
        self, path: str, body: Any, *, repeatable: bool = False, key_field: str | None = None
    ) -> ServerAnswer:
        """Makes one call as a recorded effect, so that it is never made again once it was answered.

        `key_field`: field in which the server takes an idempotency key, which makes the call repeatable. Errors:
        EpisodeFailure (infra) if there is no answer, or if the server was down since the session began and may have
        lost it.
        """
        repeatable = repeatable or key_field is not None

        async def make(key: str) -> list[Any]:
            self._refuse_if_forgotten()
            sent = {**body, key_field: key} if key_field else body
            answer = await self.server.post(path, json.dumps(sent), self.cookies, repeatable=repeatable)
            self._refuse_if_forgotten()
            return [answer.status, answer.text, dict(answer.cookies)]

        lost: WhenLost = "retry" if repeatable else self.when_lost
        recorded = await self.episode.effect(f"POST {path}", make, json.dumps(body), lost)
        answer = ServerAnswer(*recorded)
        self.cookies |= answer.cookies
        return answer

    def read_object(self, path: str, answer: ServerAnswer, bad_row: tuple[int, ...] = _BAD_ROW) -> dict[str, Any]:
        """Returns the JSON object in an answer.

        Errors: EpisodeFailure with the server's own words for a status other than 200, or if it is no object: of kind
        data if the status is in `bad_row`, infra if the answer may be a proxy's own, else environment.
        """
        if answer.status == 200:
            try:
                read = answer.json()
            except ValueError:
                read = None
            if isinstance(read, dict):
                return read
        kind = FailureKind.DATA if answer.status in bad_row else FailureKind.ENVIRONMENT
        if self.server.answered_through(answer.status, answer.text):
            kind = FailureKind.INFRA
        raise EpisodeFailure(kind, self.where(path), self.server.explain(answer))

    def where(self, path: str) -> str:
        """Returns the name by which failures call a route: the address of the server, and the path."""
        return f"resources server {self.server.base_url}{path}"

    async def close(self) -> None:
        """Closes the session on the server if it has begun and the server has a route for that. Failures are only
        noted.
        """
        if self.close_path is None or self.outages is None:
            return
        try:
            await self.post(self.close_path, {}, repeatable=True)
        except EpisodeFailure as error:
            self.episode.note(f"not closed: {error}")

    def _refuse_if_forgotten(self) -> None:
        """Checks that the server was not down after the session began, unless its sessions survive that.

        Errors: EpisodeFailure (infra) if the server was down, and has lost the session.
        """
        if self.outages not in (None, self.server.outages) and not self.survives_restart:
            problem = "the server was down after this session began; what it knew of it is lost"
            raise EpisodeFailure(FailureKind.INFRA, self.where(""), problem)


def _style(routes: Mapping[str, Any]) -> Style:
    """Returns the style that the server's routes show: `gymnasium` for /reset and /step, else `tools`. Errors:
    EpisodeFailure (environment) for /step without /reset.
    """
    if "/step" in routes and "/reset" not in routes:
        problem = (
            "it has /step, but no /reset: it speaks a protocol of its own (Aviary's, say), which is not spoken here"
        )
        raise EpisodeFailure(FailureKind.ENVIRONMENT, "resources server", problem)
    return "gymnasium" if routes.keys() >= _GYMNASIUM else "tools"


def _close_path(routes: Mapping[str, Any]) -> str | None:
    """Returns the route that closes the session which the cookie names; None if there is none.

    A route that needs a body is for sessions of another kind, and not taken.
    """
    for path in ("/close_session", "/close"):
        operation = routes.get(path, {}).get("post")
        if operation is not None and not operation.get("requestBody", {}).get("required"):
            return path
    return None
