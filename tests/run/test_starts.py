"""Checks what is said while workers wait for CPUs, and when a run ends for that."""

from __future__ import annotations

import asyncio
import logging
import math

import pytest

from ray_gym.run.driver import starts
from ray_gym.run.driver.starts import Starts

BUSY = "of the cluster's 4 CPUs none is free"


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "SLOW_START_S", 0.05)
    monkeypatch.setattr(starts, "SAY_S", 0.1)
    monkeypatch.setattr(starts, "_LOOK_S", 0.01)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


async def watched(subject: Starts, said: int, caplog: pytest.LogCaptureFixture) -> asyncio.Task[str]:
    """Returns the task that watches, once it has said so many warnings."""
    watching = asyncio.create_task(subject.watch())
    async with asyncio.timeout(10):
        while len(told(caplog)) < said:
            await asyncio.wait({watching}, timeout=0.01)
    return watching


async def cancel(watching: asyncio.Task[str]) -> None:
    assert not watching.done()
    watching.cancel()
    await asyncio.wait({watching})


@pytest.mark.parametrize("wait_s", [0.0, 0.3])
async def test_a_first_worker_without_cpus_ends_the_run_after_the_wait(wait_s: float) -> None:
    subject = Starts(lambda: BUSY, wait_s)
    subject.begin("a")
    began = asyncio.get_running_loop().time()
    async with asyncio.timeout(10):
        why = await subject.watch()
    assert why.startswith("no worker has started within ") and why.endswith(BUSY)
    assert asyncio.get_running_loop().time() - began >= max(wait_s, 0.05)


async def test_without_a_limit_it_is_said_again_and_again(caplog: pytest.LogCaptureFixture) -> None:
    subject = Starts(lambda: BUSY, math.inf)
    subject.begin("a")
    await cancel(await watched(subject, 3, caplog))


async def test_a_process_that_ray_is_starting_ends_no_run(caplog: pytest.LogCaptureFixture) -> None:
    subject = Starts(lambda: "", 0)
    subject.begin("a")
    await cancel(await watched(subject, 2, caplog))
    assert told(caplog)[0].endswith("Ray is still starting its process")
    first, second = [record.created for record in caplog.records][:2]
    assert second - first >= 0.09, "it is said again after SAY_S, not at each look"


async def test_an_environments_own_part_of_a_start_is_named(caplog: pytest.LogCaptureFixture) -> None:
    subject = Starts(lambda: "", hook="Shop.prepare_worker")
    subject.begin("a")
    await cancel(await watched(subject, 1, caplog))
    assert told(caplog)[0].endswith("Ray is still starting its process, or Shop.prepare_worker is at work")


async def test_what_is_told_ends_when_no_worker_is_starting(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []
    subject = Starts(lambda: BUSY, math.inf, heard.append)
    subject.begin("a")
    await cancel(await watched(subject, 1, caplog))
    assert heard == told(caplog)
    subject.is_up("a")
    assert heard[-1] == ""


@pytest.mark.parametrize(("count", "who"), [(1, "1 more worker has not"), (2, "2 more workers have not")])
async def test_further_workers_are_named_and_end_no_run(count: int, who: str, caplog: pytest.LogCaptureFixture) -> None:
    subject = Starts(lambda: BUSY, 0)
    for worker in range(count + 1):
        subject.begin(str(worker))
    subject.is_up("0")
    await cancel(await watched(subject, 2, caplog))
    assert all(line.startswith(f"{who} started within ") for line in told(caplog))


async def test_a_worker_that_is_gone_is_not_named(caplog: pytest.LogCaptureFixture) -> None:
    subject = Starts(lambda: BUSY, 0)
    for worker in "abc":
        subject.begin(worker)
    subject.is_up("a")
    subject.end("b")
    await cancel(await watched(subject, 1, caplog))
    assert told(caplog)[0].startswith("1 more worker has not")
