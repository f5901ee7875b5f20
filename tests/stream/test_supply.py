"""Groups made ahead of the fan-out: all of them, in order, not too many, and none before it is needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
from lucky_questions import Ask, AskOptions

from ray_gym.errors import UserError
from ray_gym.stream.source import AHEAD, GroupSource, Supply, number_of


def source(epochs: int | None = None, **options: int) -> GroupSource:
    return GroupSource(Ask(AskOptions(**options)), seed=0, repeats=2, epoch=6, epochs=epochs)


@asynccontextmanager
async def supplied(
    of: GroupSource, first: int, without: Iterable[int]
) -> AsyncIterator[tuple[Supply, asyncio.Semaphore]]:
    """Yields a supply that is being filled, and a semaphore that is released whenever it has more."""
    more = asyncio.Semaphore(0)
    supply = Supply(of, first, without, more.release)
    filling = asyncio.create_task(supply.fill())
    async with asyncio.timeout(30):
        yield supply, more
    assert not filling.done()
    filling.cancel()


async def test_it_ends_with_the_last_epoch_and_leaves_out_what_was_begun_before() -> None:
    async with supplied(source(epochs=2), 2, {3, 11}) as (supply, more):
        taken = []
        while not supply.is_exhausted:
            if (one := supply.take()) is None:
                await more.acquire()
                continue
            assert not supply.is_exhausted or one[0] == 10
            assert {number_of(lease.spec.group_id) for lease in one[1]} == {one[0]} and len(one[1]) == 2
            taken.append(one[0])
        assert taken == [2, 4, 5, 6, 7, 8, 9, 10]
        assert supply.take() is None


async def test_groups_that_are_replaced_come_after_the_end() -> None:
    async with supplied(source(epochs=1), 0, ()) as (supply, more):
        taken: list[int] = []
        while not supply.is_exhausted:
            if (one := supply.take()) is None:
                await more.acquire()
                continue
            taken.append(one[0])
            if one[0] in (2, 6):
                supply.replace(1)
        assert taken == [0, 1, 2, 3, 4, 5, 6, 7]
        supply.replace(1)
        assert not supply.is_exhausted
        await more.acquire()
        assert (supply.take() or [None])[0] == 8 and supply.is_exhausted


async def test_no_more_is_made_than_may_be_needed_soon() -> None:
    taken = 0
    async with supplied(source(), 0, ()) as (supply, more):
        while taken < 3 * AHEAD:
            await more.acquire()
            while (one := supply.take()) is not None:
                assert one[0] == taken
                taken += 1
        assert len(supply._ready) <= AHEAD + 4


async def test_a_generator_that_fails() -> None:
    supply = Supply(source(breaks_at=5), 0, (), lambda: None)
    with pytest.raises(UserError, match="failed on task 5"):
        await asyncio.wait_for(supply.fill(), 10)
