"""Checks the lanes from one process to all replicas of a model."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from replicas import Handle, Replica, asked, lanes_to, said, until

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.hosting.lanes.choice import rank_lanes
from ray_gym.hosting.lanes.lane import Lane
from ray_gym.hosting.lanes.replica import Whereabouts


async def test_whoever_is_cancelled_while_lanes_open_leaves_no_connection() -> None:
    replica = Replica("r")
    async with lanes_to(Handle(replica)) as lanes:
        await replica.listens()
        for turns in range(8):
            call = asyncio.create_task(lanes.complete(asked("hello"), ""))
            for _ in range(turns):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        assert said([await lanes.complete(asked("hello"), "")]) == ["r: hello"]
        await until(lambda: len(replica.end._callers) == 1)


async def test_a_lane_that_breaks_while_replicas_are_looked_for_is_replaced() -> None:
    replica, other = Replica("r"), Replica("other")

    class BreaksOne(Handle):
        async def results_async(self, timeout_s: float, return_exceptions: bool) -> list[Any]:
            found = await super().results_async(timeout_s, return_exceptions)
            for lane in lanes._lanes:
                lane._connection.close()
                await until(lambda lane=lane: lane.is_broken)  # type: ignore[misc]
            return found

    async with lanes_to(BreaksOne(replica, other)) as lanes:
        await lanes.complete(asked("hello"), "key")
        before = list(lanes._lanes)
        async with lanes._looking:
            await lanes._refresh()
        assert len(lanes._lanes) == 2 and not set(before) & set(lanes._lanes)
        assert all(lane.is_open and not lane.is_broken for lane in lanes._lanes)


async def test_lanes_that_are_closed_while_one_opens_leave_no_connection() -> None:
    replica = Replica("r")
    async with lanes_to(Handle(replica)) as lanes:
        await replica.listens()
        call = asyncio.create_task(lanes.complete(asked("hello"), ""))
        await asyncio.sleep(0)
        await lanes.close()
        await asyncio.gather(call, return_exceptions=True)
        await until(lambda: not replica.end._callers)


async def test_no_more_at_a_time_than_there_are_slots() -> None:
    replicas = [Replica("a", slots=2), Replica("b", slots=3)]
    async with lanes_to(Handle(*replicas)) as lanes:
        calls = [asyncio.create_task(lanes.complete(asked(f"slow {number}"), "key")) for number in range(20)]
        await until(lambda: sum(replica.at_once for replica in replicas) == 5)
        first = {lane.end.replica: lane for lane in lanes._lanes}
        for replica in replicas:
            replica.go_on.set()
        answers = await asyncio.gather(*calls)
    assert [replica.most_at_once for replica in replicas] == [2, 3] and len(first) == 2
    assert sorted(text.partition(": ")[2] for text in said(answers)) == sorted(f"slow {n}" for n in range(20))


async def test_another_process_s_calls_take_slots_too() -> None:
    """A full replica says so, and the call moves to the next one: a caller can't know of other processes' calls."""
    replicas = [Replica("a", slots=1), Replica("b", slots=1)]
    async with lanes_to(Handle(*replicas)) as one, lanes_to(Handle(*replicas)) as other:
        held = asyncio.create_task(one.complete(asked("slow"), "key"))
        await until(lambda: any(replica.at_once for replica in replicas))
        (full,) = [replica for replica in replicas if replica.at_once]
        (free,) = [replica for replica in replicas if not replica.at_once]
        assert said([await other.complete(asked("other"), "key")]) == [f"{free.name}: other"]
        full.go_on.set()
        await held
        assert said([await other.complete(asked("other"), "key")]) == [f"{full.name}: other"]


async def test_the_death_of_a_replica_fails_what_was_in_flight_there_and_nothing_else() -> None:
    replicas = [Replica("a"), Replica("b")]
    async with lanes_to(Handle(*replicas)) as lanes:
        calls = [asyncio.create_task(lanes.complete(asked("slow"), f"{number}")) for number in range(40)]
        await until(lambda: sum(replica.at_once for replica in replicas) == 40)
        there = len(replicas[0].seen)
        assert 5 < there < 35
        await replicas[0].die()
        await until(lambda: sum(call.done() for call in calls) >= there)
        lost, kept = [call for call in calls if call.done()], [call for call in calls if not call.done()]
        assert len(lost) == there
        for call in lost:
            with pytest.raises(ConnectionError, match="closed its connection"):
                await call
        again = await asyncio.gather(*(lanes.complete(asked("again"), f"{number}") for number in range(40)))
        assert set(said(again)) == {"b: again"}
        replicas[1].go_on.set()
        assert said([await call for call in kept]) == (40 - there) * ["b: slow"]


async def test_a_replica_that_came_again_is_found() -> None:
    handle = Handle(Replica("first"))
    async with lanes_to(handle) as lanes:
        call = asyncio.create_task(lanes.complete(asked("slow"), ""))
        await until(lambda: handle.replicas[0].seen)
        await handle.replicas[0].die()
        with pytest.raises(ConnectionError):
            await call
        waiting = asyncio.create_task(lanes.complete(asked("hello"), ""))
        await asyncio.wait({waiting}, timeout=0.05)
        assert not waiting.done(), "as long as there is none"
        handle.replicas.append(Replica("second"))
        assert said([await waiting]) == ["second: hello"]


async def test_a_replica_that_can_not_be_reached_is_told_of() -> None:
    """Calls go to the others; where it is the only one, they fail, and say where it should be."""
    near, far = Replica("near"), Replica("far")
    await far.listens()
    await far.end.close()
    async with lanes_to(Handle(near, far)) as lanes:
        answers = await asyncio.gather(*(lanes.complete(asked("hello"), f"{number}") for number in range(20)))
        assert said(answers) == 20 * ["near: hello"]
    async with lanes_to(Handle(far)) as lanes:
        with pytest.raises(ConnectionError, match=r"replica far can't be reached at 127\.0\.0\.1:\d+"):
            await lanes.complete(asked("hello"), "")


async def test_calls_end_when_the_application_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray_gym.hosting.lanes.lanes.LOOK_S", 0.01)

    async def gone() -> None:
        raise EpisodeFailure(FailureKind.INFRA, "model app x", "deleted", retry=False)

    async with lanes_to(Handle(Replica("r")), gone) as lanes:
        calls = [asyncio.create_task(lanes.complete(asked("slow"), "")) for _ in range(2)]
        for call in calls:
            with pytest.raises(EpisodeFailure, match="deleted"):
                await call


def test_a_key_stays_where_it_is_while_others_come_and_go() -> None:
    lanes = [Lane(Whereabouts(name, 1, ("127.0.0.1", 1), b"")) for name in "abcd"]
    keys = [f"{random.random()}" for _ in range(400)]
    before = {key: rank_lanes(lanes, key)[0] for key in keys}
    shares = [list(before.values()).count(lane) for lane in lanes]
    assert min(shares) > 60
    after = {key: rank_lanes(lanes[:3], key)[0] for key in keys}
    moved = [key for key in keys if before[key] is not after[key]]
    assert {before[key] for key in moved} == {lanes[3]}
