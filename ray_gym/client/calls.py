"""Defines a function for every request to the service. It returns the request as a `Call`, which a client sends.

`cursor` and `limit` select a page of a list: at most `limit` items, from a cursor on. `key` is the idempotency key of a
POST; None: a random one. A key that can't stand in an HTTP header raises ValueError.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from ray_gym.header_values import check_header_value
from ray_gym.openai_api.sampling import Request
from ray_gym.service import api

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """A call is one HTTP request, with the function that reads its answer."""

    method: str
    """HTTP method."""
    path: str
    """Path of the URL, quoted."""
    read: Callable[[bytes], T]
    """Function that reads the answer's body. It raises ValueError if the body is not such an answer."""
    query: Mapping[str, str] = field(default_factory=dict)
    """Parameters of the URL's query, by name."""
    body: Request | None = None
    """Body, which is sent as JSON; None: the request has none."""
    key: str | None = None
    """Idempotency key of a POST.

    The service carries out a request once, though it may arrive twice with the same key.
    """
    also: int | None = None
    """HTTP status, other than 200 to 299, with which the answer may come, too; None if there is no such status."""

    def request(self) -> dict[str, Any]:
        """Returns the request as keyword arguments for the `request` and `stream` methods of httpx's clients."""
        headers = {} if self.key is None else {"Idempotency-Key": self.key}
        content = None
        if self.body is not None:
            headers["Content-Type"] = "application/json"
            content = self.body.model_dump_json(exclude_unset=True).encode()
        return {
            "method": self.method,
            "url": self.path,
            "params": dict(self.query),
            "headers": headers,
            "content": content,
        }


def submit(request: api.RolloutRequest, key: str | None) -> Call[api.RolloutStatus]:
    """Returns the call that submits a rollout, and is answered with the rollout's status.

    `key`: idempotency key; None: a random one. Errors: ValueError if the key can't stand in an HTTP header.
    """
    return _post("/v1/rollouts", api.RolloutStatus.model_validate_json, request, key)


def rollouts(cursor: str | None, limit: int | None) -> Call[api.RolloutList]:
    """Returns the call that reads a page of the caller's rollouts, the newest first.

    `cursor`: place after which the page begins; None: the newest. `limit`: most items; None: the service's default.
    """
    return Call("GET", "/v1/rollouts", api.RolloutList.model_validate_json, _page(cursor, limit))


def rollout(run_id: str) -> Call[api.RolloutStatus]:
    """Returns the call that reads a rollout's status."""
    return Call("GET", _rollout(run_id), api.RolloutStatus.model_validate_json)


def cancel(run_id: str) -> Call[api.RolloutStatus]:
    """Returns the call that cancels a rollout, and is answered with the rollout's status."""
    return Call("DELETE", _rollout(run_id), api.RolloutStatus.model_validate_json)


def episodes(run_id: str, cursor: str | None, limit: int | None, samples: bool) -> Call[api.EpisodePage]:
    """Returns the call that reads a page of a rollout's episodes. `samples`: True to get their tokens.

    `cursor`: place after which the page begins; None: the start. `limit`: most episodes; None: the service's default.
    """
    query = _query(cursor, samples, limit)
    return Call("GET", f"{_rollout(run_id)}/episodes", api.EpisodePage.model_validate_json, query)


def stream(run_id: str, cursor: str | None, samples: bool) -> Call[bytes]:
    """Returns the call that opens the event stream of a rollout's groups, which `GroupStream` reads.

    `cursor`: place after the last group that was received; None: the start. `samples`: True to get the tokens.
    """
    return Call("GET", f"{_rollout(run_id)}/stream", bytes, _query(cursor, samples))


def environments() -> Call[api.EnvironmentList]:
    """Returns the call that lists the environments."""
    return Call("GET", "/v1/environments", api.EnvironmentList.model_validate_json)


def model(model_id: str) -> Call[api.ModelInfo]:
    """Returns the call that reads the description of a model."""
    return Call("GET", f"/v1/models/{quote(model_id)}", api.ModelInfo.model_validate_json)


def health() -> Call[api.Health]:
    """Returns the call that asks whether a gateway runs."""
    return Call("GET", "/healthz", api.Health.model_validate_json)


def readiness() -> Call[api.Readiness]:
    """Returns the call that asks whether the service accepts requests. An answer may come with
    the HTTP status 503; a 503 whose body has another form is a refusal.
    """
    return Call("GET", "/readyz", api.Readiness.model_validate_json, also=503)


def metrics() -> Call[str]:
    """Returns the call that reads the service's metrics as text in Prometheus' format."""
    return Call("GET", "/metrics", bytes.decode)


def openapi() -> Call[api.JsonObject]:
    """Returns the call that reads the OpenAPI description of the service."""
    return Call("GET", "/openapi.json", json.loads)


def open_session(request: api.SessionRequest, key: str | None) -> Call[api.SessionOpened]:
    """Returns the call that opens a session, and is answered with the session's state, its API path and its key.

    `key`: idempotency key; None: a random one. Errors: ValueError if the key can't stand in an HTTP header.
    """
    return _post("/v1/sessions", api.SessionOpened.model_validate_json, request, key)


def sessions(cursor: str | None, limit: int | None) -> Call[api.SessionList]:
    """Returns the call that reads a page of the caller's sessions, the newest first.

    `cursor`: place after which the page begins; None: the newest. `limit`: most items; None: the service's default.
    """
    return Call("GET", "/v1/sessions", api.SessionList.model_validate_json, _page(cursor, limit))


def session(session_id: str) -> Call[api.SessionInfo]:
    """Returns the call that reads a session's state."""
    return Call("GET", _session(session_id), api.SessionInfo.model_validate_json)


def close_session(session_id: str) -> Call[None]:
    """Returns the call that closes a session. The body of the answer is ignored."""
    return Call("DELETE", _session(session_id), _ignore_body)


def call_tool(session_id: str, request: api.ToolCallRequest, key: str | None) -> Call[api.ToolCallAnswer]:
    """Returns the call that calls a tool in a session for a participant (by default the policy), and is answered with
    the tool's result.

    `key`: idempotency key; None: a random one. Errors: ValueError if the key can't stand in an HTTP header.
    """
    return _post(f"{_session(session_id)}/tools", api.ToolCallAnswer.model_validate_json, request, key)


def say(session_id: str, request: api.MessageRequest, key: str | None) -> Call[api.MessageAnswer]:
    """Returns the call that says a message in a session for a participant (by default the policy), and is answered with
    the messages that this participant hears in reply.

    `key`: idempotency key; None: a random one. Errors: ValueError if the key can't stand in an HTTP header.
    """
    return _post(f"{_session(session_id)}/messages", api.MessageAnswer.model_validate_json, request, key)


def score(session_id: str, key: str | None) -> Call[api.SessionInfo]:
    """Returns the call that ends and scores a session, and is answered with the session's state and score.

    `key`: idempotency key; None: a random one. Errors: ValueError if the key can't stand in an HTTP header.
    """
    return _post(f"{_session(session_id)}/score", api.SessionInfo.model_validate_json, None, key)


def episode_of(session_id: str) -> Call[api.JsonObject]:
    """Returns the call that reads the row of a session's committed episode, tokens included, as a JSON object."""
    return Call("GET", f"{_session(session_id)}/episode", json.loads)


def _post(path: str, read: Callable[[bytes], T], body: Request | None, key: str | None) -> Call[T]:
    return Call("POST", path, read, body=body, key=check_header_value("key", key) or str(uuid.uuid4()))


def _rollout(run_id: str) -> str:
    return f"/v1/rollouts/{quote(run_id, safe='')}"


def _session(session_id: str) -> str:
    return f"/v1/sessions/{quote(session_id, safe='')}"


def _query(cursor: str | None, samples: bool, limit: int | None = None) -> dict[str, str]:
    return {**_page(cursor, limit), "samples": str(samples).lower()}


def _page(cursor: str | None, limit: int | None) -> dict[str, str]:
    given = {"cursor": cursor, "limit": None if limit is None else str(limit)}
    return {name: value for name, value in given.items() if value is not None}


def _ignore_body(body: bytes) -> None:
    return None
