"""Checks the lane from one process to one replica: calls, their answers, and how either end goes away."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest
from replicas import Replica, asked, lane_to, said, until

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.hosting.lanes import wire
from ray_gym.hosting.lanes.frames import Frames
from ray_gym.hosting.lanes.lane import Lane, ReplicaBroken
from ray_gym.hosting.lanes.replica import TOKEN_BYTES, BatchedReplica, Whereabouts
from ray_gym.models.base import Completion


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the calls in each batch that arrives."""
    found: list[int] = []
    decode = wire.decode_batch

    def counted(data: bytes) -> wire.CallBatch:
        batch = decode(data)
        found.append(len(batch.calls))
        return batch

    monkeypatch.setattr(wire, "decode_batch", counted)
    return found


async def test_calls_of_one_turn_go_together_and_each_gets_its_own_answer(batches: list[int]) -> None:
    replica = Replica("r")
    async with lane_to(replica) as lane:
        texts = [f"{number}" for number in range(100)]
        answers = await asyncio.gather(*(lane.call(asked(text), may_wait=True) for text in texts))
    assert said(answers) == [f"r: {text}" for text in texts]
    assert replica.seen == texts, "in their order"
    assert batches == [100]


async def test_a_slow_call_holds_no_other_back(batches: list[int]) -> None:
    replica = Replica("r")
    async with lane_to(replica) as lane:
        slow = asyncio.create_task(lane.call(asked("slow"), may_wait=True))
        fast = await asyncio.gather(*(lane.call(asked("fast"), may_wait=True) for _ in range(3)))
        assert said(fast) == 3 * ["r: fast"] and batches == [4], "of the same batch"
        assert said([await lane.call(asked("later"), may_wait=True)]) == ["r: later"]
        assert not slow.done()
        replica.go_on.set()
        assert said([await slow]) == ["r: slow"]


async def test_a_bad_request_fails_alone(batches: list[int]) -> None:
    replica = Replica("r")
    async with lane_to(replica) as lane:
        texts = ("fails", "good", "raises", "gone")
        calls = (lane.call(asked(text), may_wait=True) for text in texts)
        failed, good, raised, gone = await asyncio.gather(*calls, return_exceptions=True)
        assert batches == [4] and not lane.is_broken
    assert isinstance(failed, EpisodeFailure) and failed.failure.kind == FailureKind.DATA and not failed.retry
    assert isinstance(good, Completion) and good.message.content == "r: good"
    assert isinstance(raised, ReplicaBroken) and str(raised) == "KeyError: 'my bug'"
    assert isinstance(gone, ConnectionError) and "its engine went away" in str(gone)


async def test_a_call_that_is_cancelled_is_cancelled_there_and_its_slot_is_free_again() -> None:
    replica = Replica("r", slots=2)
    async with lane_to(replica) as lane:
        calls = [asyncio.create_task(lane.call(asked(f"slow {number}"), may_wait=True)) for number in range(3)]
        await until(lambda: len(replica.seen) == 2)
        calls[0].cancel()
        await until(lambda: replica.cancelled == ["slow 0"] and len(replica.seen) == 3)
        calls[1].cancel()
        unsent = asyncio.create_task(lane.call(asked("unsent"), may_wait=True))
        await asyncio.sleep(0)
        unsent.cancel()
        replica.go_on.set()
        assert said([await calls[2]]) == ["r: slow 2"]
        assert said([await lane.call(asked("next"), may_wait=True)]) == ["r: next"]
    assert "unsent" not in replica.seen and lane.in_flight == 0


async def test_a_call_that_is_cancelled_before_it_began_there_leaves_nothing() -> None:
    replica = Replica("r")
    async with lane_to(replica) as lane:
        await lane.call(asked("first"), may_wait=True)
        (caller,) = replica.end._callers
        caller._take(
            wire.encode_batch(wire.CallBatch([wire.ReplicaCall(7, True, wire.encode_request(asked("slow")))], []))
        )
        caller._take(wire.encode_batch(wire.CallBatch([], [7])))
        assert said([await lane.call(asked("next"), may_wait=True)]) == ["r: next"]
        assert replica.seen == ["first", "next"] and caller._in_flight == {}


async def test_a_lane_that_was_closed_while_it_opened_is_not_open() -> None:
    replica = Replica("r")
    lane = Lane(await replica.listens())
    opening = asyncio.create_task(lane.open())
    await asyncio.sleep(0)
    lane.close()
    with pytest.raises(ConnectionError, match="closed"):
        await opening
    with pytest.raises(ConnectionError, match="closed"):
        await lane.call(asked("hello"), may_wait=True)
    await until(lambda: not replica.end._callers)
    await replica.end.close()


async def test_an_answer_that_can_not_be_read_spoils_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    restore = wire.completion_of

    def strict(answer: wire.ReplicaAnswer) -> Completion:
        completion = restore(answer)
        if completion.message.content.endswith("odd"):
            raise KeyError("a field of tomorrow")
        return completion

    monkeypatch.setattr(wire, "completion_of", strict)
    replica = Replica("r")
    async with lane_to(replica) as lane:
        calls = (lane.call(asked(text), may_wait=True) for text in ("odd", "even"))
        odd, even = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(odd, ReplicaBroken) and "replica r can't be read: KeyError" in str(odd)
    assert isinstance(even, Completion)


async def test_answers_in_another_protocol_end_the_lane_and_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "encode_answers", lambda answers: b"\x00 something else")
    async with lane_to(Replica("r")) as lane:
        with pytest.raises(ConnectionError, match="the answers of replica r can't be read"):
            await lane.call(asked("hello"), may_wait=True)
        assert lane.is_broken


async def test_what_fails_as_a_replica_stops_is_asked_again_elsewhere() -> None:
    replica = Replica("r")
    async with lane_to(replica) as lane:
        with pytest.raises(EpisodeFailure):
            await lane.call(asked("engine died"), may_wait=True)
        replica.end.is_stopping = True
        with pytest.raises(ConnectionError, match="the replica is stopping"):
            await lane.call(asked("engine died"), may_wait=True)
        with pytest.raises(EpisodeFailure):
            await lane.call(asked("fails"), may_wait=True)


async def test_who_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray_gym.hosting.lanes.caller.GREETING_S", 0.01)
    replica = Replica("r")
    async with lane_to(replica) as lane:
        await lane.call(asked("first"), may_wait=True)
        reader, writer = await asyncio.open_connection(*lane.end.address)
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()
        assert said([await lane.call(asked("hello"), may_wait=True)]) == ["r: hello"]


async def test_a_replica_that_is_configured_as_before_stays_where_it_listens() -> None:
    replica = BatchedReplica()
    replica._whereabouts = Whereabouts("r", 5, ("127.0.0.1", 1), b"")
    await replica.reconfigure({"slots": 5})
    assert (await replica.whereabouts()).address == ("127.0.0.1", 1)


async def test_a_lane_that_closes_cancels_what_is_under_way() -> None:
    replica = Replica("r")
    async with lane_to(replica) as lane:
        call = asyncio.create_task(lane.call(asked("slow"), may_wait=True))
        await until(lambda: replica.seen)
    with pytest.raises(ConnectionError, match="closed"):
        await call
    await until(lambda: replica.cancelled == ["slow"])


async def test_a_replica_whose_port_is_another_s_by_now_is_gone() -> None:
    other = Replica("other")
    lane = Lane(replace(await other.listens(), replica="gone", token=TOKEN_BYTES * b"x"))
    await lane.open()
    with pytest.raises(ConnectionError, match="gone closed its connection"):
        await lane.call(asked("hello"), may_wait=True)
    assert other.seen == [] and lane.is_broken
    await other.end.close()


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n\r\n", b"\x00\x00\x00\x00", b"\x20\x00\x00\x00" + 32 * b"x"])
async def test_who_does_not_know_the_token_is_cut_off(sent: bytes) -> None:
    replica = Replica("r")
    async with lane_to(replica) as lane:
        reader, writer = await asyncio.open_connection(*lane.end.address)
        writer.write(sent)
        async with asyncio.timeout(10):
            with suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()
        assert said([await lane.call(asked("hello"), may_wait=True)]) == ["r: hello"]
    assert replica.seen == ["hello"]


async def test_a_batch_that_can_not_be_read_ends_its_caller_alone() -> None:
    replica = Replica("r")
    async with lane_to(replica) as lane, lane_to(replica) as other:
        lane._connection.send(b"no batch")
        await until(lambda: lane.is_broken)
        with pytest.raises(ConnectionError, match="closed its connection"):
            await lane.call(asked("hello"), may_wait=True)
        assert said([await other.call(asked("hello"), may_wait=True)]) == ["r: hello"]


async def test_frames_come_whole_however_the_network_cuts_them() -> None:
    replica = Replica("r")
    async with lane_to(replica) as lane:
        text = 3_000_000 * "a"
        (answer,) = await asyncio.gather(lane.call(asked(text), may_wait=True))
        assert answer.message.content == f"r: {text}"
    received: list[bytes] = []
    frames = Frames(received.append, lambda error: None)
    for byte in b"\x03\x00\x00\x00abc\x00\x00\x00\x00\x01\x00\x00\x00d":
        frames.data_received(bytes([byte]))
    assert received == [b"abc", b"", b"d"]
