"""Groups made ahead of the fan-out: all of them, in order, not too many, and none before it is needed."""

from __future__ import annotations

import asyncio

import pytest
from lucky_questions import Ask, AskOptions

from ray_gym.errors import UserError
from ray_gym.stream.source import AHEAD, GroupSource, Supply, number_of


def source(epochs: int | None = None, **options: int) -> GroupSource:
    return GroupSource(Ask(AskOptions(**options)), seed=0, repeats=2, epoch=6, epochs=epochs)


async def test_it_ends_with_the_last_epoch_and_leaves_out_what_was_begun_before() -> None:
    supply = Supply(source(epochs=2), 2, {3, 11}, lambda: None)
    await asyncio.wait_for(supply.fill(), 10)
    taken = []
    while (one := supply.take()) is not None:
        assert not supply.is_exhausted or one[0] == 10
        assert {number_of(lease.spec.group_id) for lease in one[1]} == {one[0]} and len(one[1]) == 2
        taken.append(one[0])
    assert taken == [2, 4, 5, 6, 7, 8, 9, 10] and supply.is_exhausted


async def test_no_more_is_made_than_may_be_needed_soon() -> None:
    more = asyncio.Semaphore(0)
    supply = Supply(source(), 0, (), more.release)
    filling = asyncio.create_task(supply.fill())
    taken = 0
    async with asyncio.timeout(30):
        while taken < 3 * AHEAD:
            await more.acquire()
            while (one := supply.take()) is not None:
                assert one[0] == taken
                taken += 1
    assert not filling.done() and len(supply._ready) <= AHEAD + 4
    filling.cancel()


async def test_a_generator_that_fails() -> None:
    supply = Supply(source(breaks_at=5), 0, (), lambda: None)
    with pytest.raises(UserError, match="failed on task 5"):
        await asyncio.wait_for(supply.fill(), 10)
