from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from ray_gym.engines.endpoint import Endpoint, EndpointOptions, RefusedRequest
from ray_gym.engines.endpoint_check import open_endpoint_check
from ray_gym.engines.http1.pool import READ_AT_ONCE
from ray_gym.engines.proxied import Proxied, open_session
from ray_gym.errors import EpisodeFailure, UserError
from ray_gym.models.base import EngineCheck
from ray_gym.proxies import answered_through, proxy_to, through_proxy

CALLS = 4 * READ_AT_ONCE


@pytest.fixture
async def proxy() -> AsyncIterator[str]:
    """Answers all calls in one turn of the event loop, as soon as it has them all."""
    everyone = asyncio.Barrier(CALLS)

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        await everyone.wait()
        return web.Response(text="{}")

    application = web.Application()
    application.router.add_post("/v1/completions", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_answers_that_come_together_are_told_in_several_turns(proxy: str) -> None:
    session = open_session({}, proxy, limit=CALLS, connect_s=5, silence_s=60)
    proxied = Proxied("http://far.invalid/v1", session)
    loop, told = asyncio.get_running_loop(), [0]

    async def call() -> None:
        assert (await proxied.post("/completions", {}, b"{}")).body == b"{}"
        told[-1] += 1

    def count_anew() -> None:
        told.append(0)
        counting.append(loop.call_soon(count_anew))

    counting = [loop.call_soon(count_anew)]
    await asyncio.gather(*(call() for _ in range(CALLS)))
    counting[-1].cancel()
    await proxied.close()
    assert sum(told) == CALLS and max(told) == READ_AT_ONCE


@pytest.mark.parametrize(
    ("url", "variable", "value", "told"),
    [
        (
            "http://127.0.0.1:8000/v1",
            "http_proxy",
            "http://10.0.0.1:3128",
            "http://10.0.0.1:3128 of http_proxy; NO_PROXY=127.0.0.1",
        ),
        (
            "https://models.test/v1",
            "https_proxy",
            "http://me:secret@p.test:1",
            "http://p.test:1 of https_proxy; NO_PROXY=models.test",
        ),
        ("http://a.test/v1", "http_proxy", "127.0.0.1:9", "http://127.0.0.1:9 of http_proxy; NO_PROXY=a.test"),
        ("http://a.test/v1", "HTTP_PROXY", "me:secret@p.test:9/", "http://p.test:9 of HTTP_PROXY; NO_PROXY=a.test"),
        ("http://a.test/v1", "all_proxy", "http://p.test:9", "http://p.test:9 of all_proxy; NO_PROXY=a.test"),
        ("https://a.test/v1", "ALL_PROXY", "socks5://p.test:9", "socks5://p.test:9 of ALL_PROXY; NO_PROXY=a.test"),
        ("http://a.test/v1", "HTTP_PROXY", "http://[::1]:9", "http://[::1]:9 of HTTP_PROXY; NO_PROXY=a.test"),
    ],
)
def test_a_proxy_is_named_with_the_way_around_it(
    monkeypatch: pytest.MonkeyPatch, url: str, variable: str, value: str, told: str
) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name, raising=False)
    assert through_proxy(url) == ""
    monkeypatch.setenv(variable, value)
    assert told in through_proxy(url) and "secret" not in through_proxy(url)
    monkeypatch.setenv("no_proxy", url.split("//")[1].split("/")[0].partition(":")[0])
    assert through_proxy(url) == ""


def test_a_port_may_go_without_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://p.test:1")
    monkeypatch.setenv("no_proxy", "localhost:8000,b.test")
    urls = ("http://localhost:8000/v1", "http://localhost:8001/v1", "http://a.b.test:80/v1")
    assert [proxy_to(url) for url in urls] == [None, "http://p.test:1", None]


@pytest.fixture
async def refusing(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, list[web.Response]]]:
    """Yields the address of a proxy that answers all calls itself, and the list that holds its answer."""
    answers: list[web.Response] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(status=answers[0].status, text=answers[0].text)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    address = f"127.0.0.1:{runner.addresses[0][1]}"
    monkeypatch.setenv("http_proxy", f"http://me:s3cr%40tpw@{address}")
    monkeypatch.setenv("https_proxy", f"http://me:s3cr%40tpw@{address}")
    yield address, answers
    await runner.cleanup()


async def said_by_calls(url: str) -> list[str]:
    """Returns what a call of a run and the check before it say of an endpoint."""
    options = EndpointOptions(base_url=url, model="m", retries=0)
    endpoint = Endpoint(options, None)
    with pytest.raises((EpisodeFailure, RefusedRequest)) as failed:
        await endpoint.post("/chat/completions", {}, "s", bytes)
    await endpoint.close()

    def check() -> str:
        with pytest.raises(UserError) as told, open_endpoint_check(options, None, EngineCheck("m", {}, False)) as made:
            made.check_model()
        return str(told.value)

    return [str(getattr(failed.value, "failure", failed.value)), await asyncio.to_thread(check)]


@pytest.mark.parametrize("status", [403, 407, 502, 503])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_answers_itself_is_named_without_its_password(
    refusing: tuple[str, list[web.Response]], status: int, scheme: str
) -> None:
    address, answers = refusing
    answers.append(web.Response(status=status, text="<html>ERROR: Access Denied</html>"))
    for said in await said_by_calls(f"{scheme}://far.invalid:9/v1"):
        assert f"through the proxy http://{address} of {scheme}_proxy; NO_PROXY=far.invalid" in said, said
        assert "s3cr" not in said and "me:" not in said and "api_key" not in said and "still starting" not in said


@pytest.mark.parametrize(
    ("url", "status", "body", "is_named"),
    [
        ("http://a.test/v1", 403, "<html>Denied</html>", True),
        ("http://a.test/v1", 407, "{}", True),
        ("http://a.test/v1", 403, '{"error": {"message": "wrong key"}}', False),
        ("http://a.test/v1", 404, "<html>Not found</html>", False),
        ("https://a.test/v1", 403, "<html>Denied</html>", False),
    ],
)
def test_answers_that_are_the_endpoints_own_name_no_proxy(
    monkeypatch: pytest.MonkeyPatch, url: str, status: int, body: str, is_named: bool
) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    assert answered_through(url, status, body) == ""
    monkeypatch.setenv("all_proxy", "http://p.test:9")
    assert bool(answered_through(url, status, body)) == is_named


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "ftp://x"])
def test_a_proxy_of_another_kind_is_refused_before_the_run(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("http_proxy", proxy)
    options = EndpointOptions(base_url="http://a.test/v1", model="m")
    with (
        pytest.raises(UserError, match=rf"models\.far\.base_url: .* the proxy {proxy} of http_proxy; NO_PROXY=a\.test"),
        open_endpoint_check(options, None, EngineCheck("far", {}, uses_tools=False)),
    ):
        pass
