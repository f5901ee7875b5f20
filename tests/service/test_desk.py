"""The desk of a worker: whoever asks for a session waits for that one, and for no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ray_gym.play import Played
from ray_gym.service import desk
from ray_gym.service.desk import Desk
from ray_gym.service.errors import Refused


class Opened:
    """Of a session, what is needed for it to be held; whether it is let go is up to whoever hosts it."""

    idle_s = 0.0
    played: Played | None = None

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def open(self) -> None:
        return None

    async def close(self) -> None:
        return None


class LetGoAtOnce(Opened):
    @property
    def idle_s(self) -> float:  # type: ignore[override]
        raise asyncio.CancelledError


def hosted(at: Desk, session_id: str, session: Any = None) -> tuple[Any, asyncio.Task[Played]]:
    session = session or Opened()
    return session, asyncio.create_task(at.host(session_id, session))


async def let_go(*hosting: asyncio.Task[Played]) -> None:
    await asyncio.sleep(0)
    for one in hosting:
        one.cancel()
    await asyncio.gather(*hosting, return_exceptions=True)


async def test_all_who_wait_for_a_session_get_it_and_others_wait_on() -> None:
    at = Desk("market", idle_s=60)
    waiting = [asyncio.create_task(at.find("a")) for _ in range(3)]
    other = asyncio.create_task(at.find("b"))
    await asyncio.sleep(0)
    session, hosting = hosted(at, "a")
    assert await asyncio.gather(*waiting) == [session] * 3
    assert not other.done()
    second, also = hosted(at, "b")
    assert await other is second
    assert await at.find("a") is session
    await let_go(hosting, also)


async def test_a_session_that_was_let_go_before_anybody_looked_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "OPENING_S", 0.05)
    at = Desk("market", idle_s=60)
    waiting = [asyncio.create_task(at.find("a")) for _ in range(2)]
    await asyncio.sleep(0)
    _, hosting = hosted(at, "a", LetGoAtOnce())
    await let_go(hosting)
    refused = await asyncio.gather(*waiting, return_exceptions=True)
    assert [one.status for one in refused if isinstance(one, Refused)] == [503, 503]
