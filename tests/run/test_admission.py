"""Checks when new episodes may begin. The gate is plain state; the loads that models report are given here."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from ray_gym.hosting.admission import LOOK_S, Admission, AdmissionLimits, Gate, ReplicaLoad, room

EASY = ReplicaLoad(kv_use=0.2, waiting=0, running=3, recomputed=0.0)
LIMITS = AdmissionLimits(max_kv_use=0.9, max_waiting=4, max_recomputed=0.1, max_conversations=8)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"kv_use": 0.9, "waiting": 4, "recomputed": 0.1}, 15),
        ({"kv_use": 0.91}, 0),
        ({"waiting": 5}, 0),
        ({"recomputed": 0.11}, 0),
    ],
)
def test_one_replica_over_a_limit_is_enough(change: dict[str, float], expected: float) -> None:
    assert room([EASY, replace(EASY, **change)], 1, LIMITS) == expected


def test_limits_that_are_not_set_limit_nothing() -> None:
    full = ReplicaLoad(kv_use=0.5, waiting=10_000, running=1, recomputed=1.0)
    assert room([full], 10_000, AdmissionLimits(max_recomputed=None)) == math.inf


def test_conversations_are_counted_over_all_replicas() -> None:
    assert [room([EASY, EASY], there, LIMITS) for there in (15, 16, 20)] == [1, 0, 0]
    assert room([], 16, LIMITS) == math.inf, "nobody answered: calls find out for themselves"


def entered(gate: Gate, now: float) -> int:
    before = gate.in_flight
    while gate.may_enter(now):
        gate.enter()
    return gate.in_flight - before


def test_each_look_lets_in_half_as_many_again() -> None:
    gate, now, counts = Gate(), 0.0, []
    for _ in range(6):
        gate.update(math.inf, now)
        counts.append(entered(gate, now))
        now += LOOK_S
    assert counts == [2, 2, 2, 3, 4, 6]


def test_nobody_enters_while_it_is_crowded_but_one_alone() -> None:
    gate = Gate()
    gate.update(0, now=0)
    assert entered(gate, 0) == 1
    gate.leave()
    assert entered(gate, 0) == 1


def test_what_a_look_allowed_does_not_last() -> None:
    gate = Gate()
    gate.enter()
    gate.update(math.inf, now=0)
    assert gate.may_enter(LOOK_S / 2) and not gate.look_is_due(LOOK_S / 2)
    assert not gate.may_enter(LOOK_S) and gate.look_is_due(LOOK_S)


class Model:
    """Has room for so many conversations."""

    is_gated = True

    def __init__(self, most: int) -> None:
        self.most = most
        self.asked = 0

    async def room(self, conversations: float) -> float:
        self.asked += 1
        return max(0, self.most - conversations)


class Episodes:
    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._over = asyncio.Event()
        self.under_way = 0
        self.most = 0

    async def play(self, begins: bool = True) -> None:
        async with self._admission.place(begins):
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await self._over.wait()
            self.under_way -= 1

    def end(self) -> None:
        self._over.set()


async def until(condition: Callable[[], bool], within_s: float = 20) -> None:
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110  it is about who does not come, too
            await asyncio.sleep(0.01)


@pytest.mark.runs
async def test_the_fullest_of_all_models_decides() -> None:
    policy, user = Model(100), Model(4)
    episodes = Episodes(Admission([policy, user]))
    tasks = [asyncio.create_task(episodes.play()) for _ in range(12)]
    await until(lambda: episodes.under_way >= 4 and user.asked >= 4)
    assert episodes.under_way == 4, "the policy has room for more, the user has not"
    user.most = 100
    await until(lambda: episodes.under_way == 12)
    episodes.end()
    await asyncio.gather(*tasks)
    assert policy.asked == user.asked


async def test_an_episode_that_goes_on_elsewhere_never_waits() -> None:
    model = Model(0)
    episodes = Episodes(Admission([model]))
    tasks = [asyncio.create_task(episodes.play(begins=False)) for _ in range(5)]
    await until(lambda: episodes.under_way == 5)
    assert model.asked == 0
    episodes.end()
    await asyncio.gather(*tasks)


async def test_one_that_is_cancelled_while_it_waits_keeps_nobody_out() -> None:
    model = Model(1)
    episodes = Episodes(Admission([model]))
    first = asyncio.create_task(episodes.play())
    waiting = [asyncio.create_task(episodes.play()) for _ in range(2)]
    await until(lambda: model.asked >= 1)
    waiting[0].cancel()
    model.most = 100
    await until(lambda: episodes.under_way == 2)
    episodes.end()
    await asyncio.gather(first, waiting[1])
    assert waiting[0].cancelled()


async def test_models_without_limits_are_not_asked() -> None:
    episodes = Episodes(Admission([object()]))
    tasks = [asyncio.create_task(episodes.play()) for _ in range(50)]
    await until(lambda: episodes.under_way == 50)
    episodes.end()
    await asyncio.gather(*tasks)
