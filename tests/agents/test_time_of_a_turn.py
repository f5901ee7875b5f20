"""Checks that the time of a program's turn is the episode's: waits are left out, and all else counts."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from cast import program

from ray_gym.agents.program import Site
from ray_gym.agents.running import Launcher, Left
from ray_gym.aio.clock import ActiveClock
from ray_gym.sandbox.sandbox import Ended, ProgramEnd

DEADLINE_S = 0.05
LATE = "it was ended (deadline) after 0 s"


@dataclass
class Endless:
    """Runs programs that go on until they are killed."""

    ended: Ended = Ended.KILLED
    deadlines: list[float | None] = field(default_factory=list)

    async def run(self, *_: Any, deadline_s: float | None, kill: asyncio.Event, **__: Any) -> ProgramEnd:
        self.deadlines.append(deadline_s)
        await kill.wait()
        return ProgramEnd(-9, self.ended, 1.0, b"", b"")


def started(clock: ActiveClock, ending: asyncio.Event | None = None, ended: Ended = Ended.KILLED) -> asyncio.Task[Left]:
    sandbox = cast(Any, SimpleNamespace(run=Endless(ended).run))
    launcher = Launcher("mine", program(""), sandbox, Site("/s", "http://door", "k", "policy"), DEADLINE_S, clock)
    return asyncio.create_task(launcher.run("Hello", 0, ending or asyncio.Event()))


async def is_over(turn: asyncio.Task[Left], within_s: float = 3 * DEADLINE_S) -> bool:
    done, _ = await asyncio.wait({turn}, timeout=within_s)
    return bool(done)


async def test_a_wait_is_left_out_and_all_else_counts() -> None:
    clock = ActiveClock()
    with clock.count_wait():
        turn = started(clock)
        assert not await is_over(turn)
    assert await is_over(turn, 5) and (await turn).why_ended == LATE


async def test_a_wait_beside_work_counts() -> None:
    clock = ActiveClock()
    with clock.count_wait(), clock.count_work():
        assert (await started(clock)).why_ended == LATE


async def test_a_lost_call_is_left_out() -> None:
    clock = ActiveClock()
    turn = started(clock)
    await asyncio.sleep(0)
    clock.exclude(time.monotonic(), 4 * DEADLINE_S)
    assert not await is_over(turn)
    assert (await turn).why_ended == LATE


async def test_a_replay_is_left_out() -> None:
    clock = ActiveClock()
    clock.set_replaying(True)
    turn = started(clock)
    assert not await is_over(turn)
    clock.set_age(0.0)
    clock.set_replaying(False)
    assert (await turn).why_ended == LATE


async def test_a_program_that_others_end_was_not_late() -> None:
    clock, ending = ActiveClock(), asyncio.Event()
    turn = started(clock, ending)
    await asyncio.sleep(0)
    ending.set()
    assert (await turn).why_ended == "it was ended (killed) after 1 s"
    assert not clock._limits
    assert (await started(ActiveClock(), ended=Ended.MEMORY)).why_ended == "it was ended (memory) after 1 s"


async def test_the_sandbox_has_no_deadline_of_its_own() -> None:
    sandbox = Endless()
    site = Site("/s", "http://door", "k", "policy")
    launcher = Launcher(
        "mine", program(""), cast(Any, SimpleNamespace(run=sandbox.run)), site, DEADLINE_S, ActiveClock()
    )
    await launcher.run("Hello", 0, asyncio.Event())
    assert sandbox.deadlines == [math.inf]
