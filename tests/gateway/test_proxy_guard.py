"""What is refused in Serve's proxy, before Serve has read it."""

from __future__ import annotations

import httpx
import pytest
from gateway_app import problem
from starlette.responses import PlainTextResponse

from deployments.gateway.headers import LONGEST_TARGET, MOST_HEADER_BYTES, MOST_HEADERS
from deployments.gateway.proxy import CALLBACK, ROUTES, ProxyGuard, middlewares
from ray_gym.plugins import load_object


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
    [path] = CALLBACK.values()
    module, _, name = path.rpartition(".")
    assert load_object(f"{module}:{name}", "") is middlewares
