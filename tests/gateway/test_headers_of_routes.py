"""Checks that routes read from headers what clients send in headers: a route that looks elsewhere for a key would carry
out a repeated request twice.
"""

from __future__ import annotations

from typing import Any, cast

from fastapi import FastAPI

from ray_gym.deployments.gateway.doors.rollouts import rollout_routes
from ray_gym.deployments.gateway.doors.sessions import session_routes
from ray_gym.deployments.gateway.guards.auth import caller_of

ANYTHING = cast(Any, None)
"""Argument of routes that are described, and never called."""
CAN_BE_REPEATED = ["", "/{session_id}/tools", "/{session_id}/messages", "/{session_id}/score"]


def headers_of(path: str, method: str) -> list[str]:
    app = FastAPI()
    app.include_router(rollout_routes(ANYTHING, caller_of))
    app.include_router(session_routes(ANYTHING, caller_of, ANYTHING))
    parameters = app.openapi()["paths"][path][method].get("parameters", [])
    assert {parameter["name"] for parameter in parameters if parameter["in"] == "query"} <= {
        "cursor",
        "limit",
        "samples",
    }
    return [parameter["name"] for parameter in parameters if parameter["in"] == "header"]


def test_whatever_makes_something_takes_an_idempotency_key() -> None:
    for path in ("/v1/rollouts", *(f"/v1/sessions{rest}" for rest in CAN_BE_REPEATED)):
        assert headers_of(path, "post") == ["Idempotency-Key"], path


def test_a_stream_goes_on_from_the_last_event_that_came() -> None:
    assert headers_of("/v1/rollouts/{run_id}/stream", "get") == ["Last-Event-ID"]
