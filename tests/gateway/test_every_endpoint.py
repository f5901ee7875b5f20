"""Each endpoint of the gateway has its call in the clients and its place in docs/service.md; what is missing is named."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi import FastAPI

from ray_gym.client import calls
from ray_gym.deployments.gateway.doors.general import general_routes
from ray_gym.deployments.gateway.doors.rollouts import rollout_routes
from ray_gym.deployments.gateway.doors.session_router import SessionRouter
from ray_gym.deployments.gateway.doors.sessions import session_routes
from ray_gym.deployments.gateway.guards.auth import caller_of

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "service.md").read_text()
CLIENT = Path(calls.__file__).parent
SHARED = ("base.py", "exchanges.py", "group_stream.py")
"""Modules that both clients are made of."""
OF_AGENTS = re.compile(r"/(openai|anthropic)/|/mcp$")
"""Called by the own clients of OpenAI, of Anthropic and of MCP."""


def endpoints() -> Iterator[tuple[str, str]]:
    """Yields method and path of every endpoint but those of agents, as the description of the API has them."""
    nobody = cast(Any, None)
    app = FastAPI()
    for router in (
        general_routes(nobody, nobody),
        rollout_routes(nobody, caller_of),
        session_routes(SessionRouter(nobody), caller_of, lambda caller, session: ""),
    ):
        app.include_router(router)
    for path, methods in app.openapi()["paths"].items():
        if not OF_AGENTS.search(path):
            yield from ((method.upper(), re.sub(r"{\w+}", "ID", path)) for method in methods)


def calls_of_clients() -> dict[tuple[str, str], str]:
    """Returns the name of the function in `calls`, by the endpoint that it calls."""
    found = {}
    for name, function in inspect.getmembers(calls, inspect.isfunction):
        given = inspect.signature(function).parameters
        if not name.startswith("_") and function.__module__ == calls.__name__:
            call = function(*("ID" if parameter.endswith("_id") else None for parameter in given))
            found[call.method, call.path] = name
    return found


@pytest.mark.parametrize(("method", "path"), sorted(endpoints()))
def test_an_endpoint_is_whole(method: str, path: str) -> None:
    name = calls_of_clients().get((method, path))
    assert name is not None, f"ray_gym/client/calls.py has no call for {method} {path}"
    for shell in ("synchronous.py", "asynchronous.py"):
        text = "".join((CLIENT / file).read_text() for file in (shell, *SHARED))
        assert f"calls.{name}(" in text, f"ray_gym/client/{shell} has no method that makes calls.{name}(...)"
    last = path.rpartition("/")[2] if not path.endswith("/ID") else path.split("/")[2]
    assert re.search(rf"/{last}\b", PAGE), f"docs/service.md says nothing of {method} {path}"


def test_no_call_is_left_over() -> None:
    unknown = calls_of_clients().keys() - set(endpoints()) - {("GET", "/openapi.json"), ("GET", "/v1/models/ID")}
    assert not unknown
