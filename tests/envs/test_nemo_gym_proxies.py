"""Checks that calls go through the proxies that the environment names, and that failures name them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from nemo_double import NemoDouble
from nemo_playing import adds, counter_row, failure_of, playing
from playing_tasks import play_task

from ray_gym.envs.nemo_gym.row import NemoRow
from ray_gym.errors import UserError
from ray_gym.play.play import Played

WAY_AROUND = "of HTTP_PROXY; NO_PROXY=127.0.0.1 goes without it"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


async def played_at(url: str) -> tuple[Played, int]:
    """Plays an episode, and returns it with the number of the server's outages."""
    async with playing(url, retries=1) as environment:
        played = await play_task(environment, NemoRow.model_validate(counter_row()), {"policy": adds(7)})
    return played, environment.server.outages


@asynccontextmanager
async def proxy(status: int, text: str) -> AsyncIterator[str]:
    """Yields the address of a proxy that answers all calls itself."""

    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(status=status, text=text)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_a_proxy_that_refuses_connections_is_named_and_is_no_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://me:s3cr3t@127.0.0.1:1")
    async with NemoDouble(paths={}) as double:
        played, outages = await played_at(double.url)
    kind, message = failure_of(played)
    assert (kind, outages) == ("infra", 0) and "s3cr3t" not in message
    assert f"through the proxy http://127.0.0.1:1 {WAY_AROUND}" in message


@pytest.mark.parametrize("status", [403, 407, 502, 503])
async def test_a_proxy_that_answers_itself_is_named(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    async with proxy(status, "<html>Squid: Access denied</html>") as address, NemoDouble(paths={}) as double:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:s3cr3t@{address}")
        played, _ = await played_at(double.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        direct, _ = await played_at(double.url)
    kind, message = failure_of(played)
    assert kind == "infra" and f"HTTP {status}" in message and "s3cr3t" not in message
    assert f"through the proxy http://{address} {WAY_AROUND}" in message
    assert direct.failure is None


async def test_what_the_server_says_through_a_proxy_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxy(403, '{"detail": "not for you"}') as address:
        monkeypatch.setenv("HTTP_PROXY", address)
        kind, message = failure_of((await played_at("http://far.invalid"))[0])
    assert (kind, message) == ("environment", 'HTTP 403: {"detail": "not for you"}')


async def test_a_proxy_of_another_kind_is_refused_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    async with playing("http://far.invalid") as environment:
        with pytest.raises(UserError, match=r"base_url: .*socks5://127.0.0.1:9 of ALL_PROXY; NO_PROXY=far.invalid"):
            await environment.prepare_worker()


async def test_no_login_is_read_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password s3cr3t\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    async with NemoDouble() as double:
        await played_at(double.url)
    assert double.calls and all("Authorization" not in call.headers for call in double.calls)
