"""Checks the task that hands metrics on."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

import pytest

from ray_gym.metrics.pulse import LOOK_S, Pulse, beating
from ray_gym.metrics.recorder import Reading, Recorder
from ray_gym.metrics.table import GENERATED_TOKENS, LOOP_LAG


async def test_it_hands_on_by_itself_and_what_is_left_when_it_stops() -> None:
    handed: asyncio.Queue[Sequence[Reading]] = asyncio.Queue()
    async with beating(Recorder(), "driver", handed.put_nowait) as recorder:
        recorder.count(GENERATED_TOKENS, "m").since += 1
        async with asyncio.timeout(20):
            first = await handed.get()
        recorder.count(GENERATED_TOKENS, "m").since += 2
    rest = [reading for _ in range(handed.qsize()) for reading in handed.get_nowait()]
    assert Reading(GENERATED_TOKENS, ("m",), [1]) in first
    assert Reading(GENERATED_TOKENS, ("m",), [2]) in rest
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "metrics"]


async def test_a_loop_that_stands_still_shows() -> None:
    handed: list[Reading] = []
    async with beating(Recorder(), "worker", handed.extend):
        await asyncio.sleep(0)  # it looks
        time.sleep(LOOK_S + 0.4)  # noqa: ASYNC251 - the very thing that is measured
        await asyncio.sleep(0.01)
    lags = [value for reading in handed if reading.metric is LOOP_LAG for value in reading.values]
    assert max(lags) >= 0.39 and handed[0].labels == ("worker",)


async def test_a_long_standstill_counts_as_long_as_it_is() -> None:
    """Each missed look counts the time from when it was due until the end of the standstill."""
    handed: list[Reading] = []
    async with beating(Recorder(), "worker", handed.extend):
        await asyncio.sleep(0)
        time.sleep(5.5 * LOOK_S)  # noqa: ASYNC251 - the very thing that is measured
        await asyncio.sleep(0.01)
    lags = [value for reading in handed if reading.metric is LOOP_LAG for value in reading.values]
    assert all(lags[look] >= (4.5 - look) * LOOK_S - 0.001 for look in range(5))


async def test_an_export_that_fails_is_told_of_once_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(readings: Sequence[Reading]) -> None:
        raise RuntimeError("no agent")

    pulse = Pulse(Recorder(), "driver", broken)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            pulse.start()
            await pulse.stop()
    assert [record.getMessage() for record in caplog.records] == ["metrics can't be handed on: RuntimeError: no agent"]
