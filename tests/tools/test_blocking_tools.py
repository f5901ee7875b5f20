"""Checks blocking tools: threads that never come back starve nobody, and never keep the process from exiting."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import eventually
from playing import Alone, bare, play_script

from ray_gym import Episode, tool
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.tools.blocking import BlockingPool


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def until(condition: Callable[[], object]) -> None:
    await asyncio.to_thread(eventually, condition, 10)


def names_of_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


async def get_stuck(pool: BlockingPool, release: threading.Event) -> None:
    with pytest.raises(TimeoutError, match="no result within tool_deadline_s"):
        await pool.run("nap", release.wait, 0.01)


async def test_threads_are_used_again_and_results_and_errors_come_back() -> None:
    pool = BlockingPool()
    first = await pool.run("where", threading.get_ident, 5)
    assert first == await pool.run("where", threading.get_ident, 5) != threading.get_ident()
    for error in (ZeroDivisionError, StopIteration):
        with pytest.raises((error, RuntimeError)):  # a coroutine can't raise StopIteration

            def fail(error: type[Exception] = error) -> None:
                raise error

            await pool.run("fail", fail, 5)
    assert first == await pool.run("where", threading.get_ident, 5)


async def test_calls_run_at_once_up_to_the_pools_size_and_others_wait_outside_their_deadline() -> None:
    pool, both = BlockingPool(threads=2), threading.Barrier(2)
    await asyncio.gather(*(pool.run("meet", lambda: both.wait(5), 5) for _ in range(2)))
    naps = [pool.run("nap", lambda: time.sleep(0.2), 0.5) for _ in range(6)]  # 0.6 s for all
    await asyncio.gather(*naps)


async def test_stuck_threads_are_replaced_and_come_back_when_they_can(release: threading.Event) -> None:
    pool = BlockingPool(threads=1)
    before = names_of_threads().count("blocking-tool")
    for _ in range(3):
        await get_stuck(pool, release)
    assert await pool.run("quick", lambda: "done", 5) == "done"
    release.set()
    await until(lambda: pool._stuck.total() == 0)
    pool.close()
    await until(lambda: names_of_threads().count("blocking-tool") == before)


async def test_a_cancelled_call_gives_its_thread_up_too(release: threading.Event) -> None:
    pool = BlockingPool(threads=1)
    started = threading.Event()

    def nap() -> None:
        started.set()
        release.wait()

    task = asyncio.create_task(pool.run("nap", nap, 60))
    await until(started.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await pool.run("quick", lambda: "done", 5) == "done"


async def test_a_worker_with_too_many_stuck_threads_says_that_it_must_be_replaced(release: threading.Event) -> None:
    pool = BlockingPool(threads=1, stuck_limit=2, replaced_within_s=0.1)
    for _ in range(2):
        assert not pool.is_exhausted
        await get_stuck(pool, release)
    with pytest.raises(EpisodeFailure) as caught:
        await pool.run("quick", lambda: "done", 5)
    failure = caught.value.failure
    assert pool.is_exhausted and (failure.kind, failure.where) == (FailureKind.INFRA, "tool quick")
    assert "2 of nap" in failure.message and "must be replaced" in failure.message
    release.set()
    await until(lambda: not pool.is_exhausted)
    assert await pool.run("quick", lambda: "done", 5) == "done"


async def test_until_it_is_replaced_calls_wait(release: threading.Event) -> None:
    pool = BlockingPool(threads=1, stuck_limit=1)
    await get_stuck(pool, release)
    waiting = asyncio.create_task(pool.run("quick", lambda: "done", 5))
    await asyncio.sleep(0)
    assert pool.is_exhausted and not waiting.done()
    release.set()
    assert await waiting == "done", "the thread came back after all"


def test_a_stuck_thread_does_not_keep_the_process_from_exiting() -> None:
    script = """
import asyncio, threading
from ray_gym.tools.blocking import BlockingPool
try:
    asyncio.run(BlockingPool().run("nap", threading.Event().wait, 0.1))
except TimeoutError as error:
    print(error)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True)
    assert ended.stdout == "no result within tool_deadline_s (0.1 s)\n" and not ended.stderr


def test_an_async_tool_is_no_blocking_one() -> None:
    with pytest.raises(TypeError, match="wait is async"):

        @tool(blocking=True)
        async def wait(self: object, state: object, caller: object) -> None: ...


class Sleeper(Alone):
    """Its own control flow calls what blocks, and so does its setup."""

    async def setup(self, task: Any, episode: Episode) -> dict[str, Any]:
        return {"threads": [await episode.in_thread(threading.get_ident)]}

    async def run(self, episode: Episode) -> None:
        turn = await episode.turn("policy")
        if turn.text == "sleep":
            await episode.in_thread(threading.Event().wait, 5)
        episode.state["threads"].append(await episode.in_thread(threading.get_ident))


async def test_an_environments_own_code_can_call_what_blocks() -> None:
    game = await play_script(Sleeper(), ["go on"])
    assert game.played.status == "completed"
    assert threading.get_ident() not in game.episode.state["threads"]


async def test_what_blocks_for_too_long_fails_the_episode() -> None:
    failure = (await play_script(Sleeper(), ["sleep"], limits={"tool_deadline_s": 0.05})).played.failure
    assert failure is not None and (failure.kind, bare(failure.where)) == (FailureKind.ENVIRONMENT, "Sleeper.run")
    assert "no result within tool_deadline_s" in failure.message
