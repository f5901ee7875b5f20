"""A pool opens sandboxes ahead of need, and never more than it may."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sandboxes import SMALL, marked, until

from ray_gym.plugins import find_sandbox
from ray_gym.sandbox import Sandbox, SandboxGone, SandboxPool


class Counted:
    """Opens sandboxes that only count, and are open once `gate` is set."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.opened = self.closed = self.most = 0

    async def open(self) -> Any:
        self.opened += 1
        self.most = max(self.most, self.opened - self.closed)
        try:
            await self.gate.wait()
        except BaseException:
            self.closed += 1
            raise
        return self

    async def close(self) -> None:
        self.closed += 1


async def test_one_that_is_ready_is_taken_and_replaced() -> None:
    counted = Counted()
    pool = SandboxPool(counted.open, ahead=2, most=4)
    pool.fill()
    await until(lambda: pool.ready == 2, "two are ready")
    counted.gate.clear()
    async with pool.take():  # does not wait for the gate
        assert pool.ready == 1
        counted.gate.set()
        await until(lambda: pool.ready == 2, "it is replaced")
    await pool.close()
    assert counted.opened == counted.closed


@pytest.mark.parametrize(("ahead", "most"), [(0, 1), (1, 1), (2, 3), (3, 3)])
async def test_there_are_never_more_than_it_may_have(ahead: int, most: int) -> None:
    counted = Counted()
    pool = SandboxPool(counted.open, ahead, most)
    pool.fill()

    async def use() -> None:
        async with pool.take():
            await asyncio.sleep(0)

    await asyncio.gather(*(use() for _ in range(50)))
    assert counted.most <= most
    await pool.close()
    assert counted.opened == counted.closed


async def test_a_caller_that_is_cancelled_leaves_room() -> None:
    counted = Counted()
    pool = SandboxPool(counted.open, ahead=0, most=1)
    counted.gate.clear()
    entering = asyncio.create_task(pool.take().__aenter__())
    await until(lambda: counted.opened == 1, "it opens")
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    counted.gate.set()
    async with asyncio.timeout(5), pool.take():
        pass
    await pool.close()


async def test_the_error_of_opening_one_reaches_the_caller() -> None:
    async def broken() -> Sandbox:
        raise SandboxGone("broken")

    pool = SandboxPool(broken, ahead=1, most=2)
    pool.fill()
    for _ in range(5):
        with pytest.raises(SandboxGone, match="broken"):
            async with asyncio.timeout(5), pool.take():
                pass
    await pool.close()
    with pytest.raises(RuntimeError, match="closed"):
        async with pool.take():
            pass


def test_a_pool_that_can_be_none_is_refused() -> None:
    for ahead, most in ((2, 1), (-1, 1), (0, 0)):
        with pytest.raises(ValueError, match="a pool keeps"):
            SandboxPool(Counted().open, ahead, most)


@pytest.mark.agents
async def test_a_closed_pool_leaves_no_process(kind: str) -> None:
    found = find_sandbox(kind, "tests")()
    pool = SandboxPool(lambda: found.open(SMALL), ahead=1, most=2)
    pool.fill()
    async with pool.take() as sandbox:
        await sandbox.start(["sleep", "86428"])
        await until(lambda: pool.ready == 1, "another is ready")
        await pool.close()
        assert marked("86428") == []
