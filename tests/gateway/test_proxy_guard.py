"""Checks what is refused in Serve's proxy, before Serve has read it."""

from __future__ import annotations

import httpx
import pytest
from gateway_app import problem
from ray.serve._private.http_util import convert_object_to_asgi_messages
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ray_gym.deployments.gateway.guards.headers import LONGEST_TARGET, MOST_HEADER_BYTES, MOST_HEADERS
from ray_gym.deployments.gateway.proxy import CALLBACK, ENVIRONMENT, ROUTES, ProxyGuard, middlewares
from ray_gym.load_object import load_object


def client() -> httpx.AsyncClient:
    transport = httpx.ASGITransport(ProxyGuard(PlainTextResponse("through")))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


@pytest.mark.parametrize(
    "name", ["X-Session-ID", "x_session_id", "X-Request-ID", "serve_multiplexed_model_id", "traceparent", "tracestate"]
)
async def test_headers_that_serve_reads_itself_are_text(name: str) -> None:
    async with client() as http:
        assert problem(await http.get("/", headers={name: b"\xd7\xf8"}), 400)["code"] == "bad_header"
        assert (await http.get("/", headers={name: "plain"})).text == "through"


async def test_headers_and_paths_have_an_end() -> None:
    async with client() as http:
        many = {f"x-{n}": "" for n in range(MOST_HEADERS)}
        assert problem(await http.get("/", headers=many), 431)["code"] == "too_many_headers"
        long = {"x-long": "x" * MOST_HEADER_BYTES}
        assert problem(await http.get("/", headers=long), 431)["code"] == "too_many_headers"
        query = "x" * LONGEST_TARGET
        assert problem(await http.get(f"/?{query}"), 414)["code"] == "target_too_long"
        assert (await http.get(f"/?{query[1:]}")).text == "through"


async def test_nobody_is_told_which_applications_there_are() -> None:
    async with client() as http:
        problem(await http.get(ROUTES), 404)
        assert (await http.get("/-/healthz")).text == "through"


def test_serve_finds_it_by_its_name() -> None:
    module, _, name = ENVIRONMENT[CALLBACK].rpartition(".")
    assert load_object(f"{module}:{name}", "") is middlewares


def answering(app: ASGIApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(ProxyGuard(app)), base_url="http://localhost")


@pytest.mark.parametrize(("status", "told"), [(503, {"retry-after": "7"}), (503, {}), (404, {})])
async def test_what_serve_refuses_itself_is_told_as_the_gateway_would(status: int, told: dict[str, str]) -> None:
    headers = [(name.encode(), value.encode()) for name, value in told.items()]
    messages = convert_object_to_asgi_messages("of Serve: /a/path", status, headers)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    async with answering(serve) as http:
        answer = await http.get("/v1/rollouts")
    assert problem(answer, 503)["code"] == "unavailable" and "/a/path" not in answer.text
    assert int(answer.headers["Retry-After"]) > 0


async def test_a_request_whose_replica_is_gone_is_to_be_made_again() -> None:
    async def lost(scope: Scope, receive: Receive, send: Send) -> None:
        return  # as Serve does then

    async with answering(lost) as http:
        answer = await http.get("/v1/rollouts")
    assert problem(answer, 503)["code"] == "unavailable" and int(answer.headers["Retry-After"]) > 0


async def test_what_an_application_answers_is_left_as_it_is() -> None:
    async with answering(PlainTextResponse("mine", 503)) as http:
        assert (await http.get("/other")).text == "mine"
