"""Checks that tasks which become ready together continue in pieces, in order, and never block the loop for long."""

from __future__ import annotations

import asyncio

from ray_gym.aio.pace import AT_ONCE, Pace


async def passed(pace: Pace, number: int, into: list[int]) -> None:
    if not pace.take_room():
        await pace.wait()
    into.append(number)


async def test_so_many_go_on_in_a_turn_and_all_in_their_order() -> None:
    pace, gone = Pace(), list[int]()
    tasks = [asyncio.create_task(passed(pace, number, gone)) for number in range(5 * AT_ONCE)]
    most = 0
    while len(gone) < len(tasks):
        before = len(gone)
        await asyncio.sleep(0)
        most = max(most, len(gone) - before)
    assert gone == list(range(len(tasks))) and most <= AT_ONCE


async def test_few_never_wait() -> None:
    pace = Pace()
    for _ in range(10):
        assert all(pace.take_room() for _ in range(AT_ONCE)) and not pace.take_room()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_who_is_cancelled_while_waiting_takes_nobodys_place() -> None:
    pace, gone = Pace(), list[int]()
    tasks = [asyncio.create_task(passed(pace, number, gone)) for number in range(3 * AT_ONCE)]
    await asyncio.sleep(0)
    for task in tasks[AT_ONCE : 2 * AT_ONCE]:
        task.cancel()
    async with asyncio.timeout(5):
        await asyncio.gather(*tasks, return_exceptions=True)
    assert gone == [*range(AT_ONCE), *range(2 * AT_ONCE, 3 * AT_ONCE)]
