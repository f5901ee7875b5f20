"""Batches of calls between a process and the replicas of a model; Serve's handle alone is a double."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ray.exceptions import ActorDiedError

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.lanes import wire
from ray_gym.lanes.choice import ranked
from ray_gym.lanes.frames import Frames
from ray_gym.lanes.lane import Broken, Lane
from ray_gym.lanes.lanes import Lanes
from ray_gym.lanes.replica import TOKEN_BYTES, BatchedReplica, ReplicaEnd, Whereabouts
from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import Completion, CompletionRequest, Sampling, VersionSpan

TOOL = ToolSchema("look_up", "Looks it up.", {"type": "object", "properties": {"stone": {"type": "string"}}})


def asked(text: str, session: str = "episode") -> CompletionRequest:
    return CompletionRequest([Message("user", text)], Sampling(), session, seed=1)


class Replica:
    """What its model does is told by the words of the request."""

    def __init__(self, name: str, slots: int = 1000) -> None:
        self.name = name
        self.end = ReplicaEnd(name, self.complete, slots)
        self.is_alive = True
        self.seen: list[str] = []
        self.cancelled: list[str] = []
        self.at_once = 0
        self.most_at_once = 0
        self.go_on = asyncio.Event()
        self.whereabouts: Whereabouts | None = None

    async def listens(self) -> Whereabouts:
        if self.whereabouts is None:
            self.whereabouts = await self.end.open("127.0.0.1")
        return self.whereabouts

    async def complete(self, request: CompletionRequest) -> Completion:
        text = request.messages[-1].content
        self.seen.append(text)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if text.startswith("slow"):
                await self.go_on.wait()
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled.append(text)
            raise
        finally:
            self.at_once -= 1
        if text == "fails":
            raise EpisodeFailure(FailureKind.DATA, "template", "bad", retry=False)
        if text == "engine died":
            raise EpisodeFailure(FailureKind.INFRA, "vllm", "dead", retry=True)
        if text == "raises":
            raise KeyError("my bug")
        if text == "gone":
            raise ConnectionError("its engine went away")
        return Completion(Message("assistant", f"{self.name}: {text}"))

    async def die(self) -> None:
        self.is_alive = False
        await self.end.close()


class Handle:
    """Of Serve: it says which replicas there are."""

    def __init__(self, *replicas: Replica) -> None:
        self.replicas = list(replicas)

    def broadcast(self, method: str) -> Any:
        assert method == "whereabouts"
        return self

    async def results_async(self, timeout_s: float, return_exceptions: bool) -> list[Any]:
        return [await replica.listens() if replica.is_alive else ActorDiedError() for replica in self.replicas]


async def never_gone() -> None:
    return None


@asynccontextmanager
async def lane_to(replica: Replica) -> AsyncIterator[Lane]:
    lane = Lane(await replica.listens())
    await lane.open()
    try:
        yield lane
    finally:
        lane.close()
        await replica.end.close()


@asynccontextmanager
async def lanes_to(handle: Handle, look: Any = never_gone) -> AsyncIterator[Lanes]:
    lanes = Lanes(handle, look)
    try:
        yield lanes
    finally:
        await lanes.close()
        for replica in handle.replicas:
            await replica.end.close()


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many calls came in each."""
    found: list[int] = []
    decode = wire.decode_batch

    def counted(data: bytes) -> wire.Batch:
        batch = decode(data)
        found.append(len(batch.calls))
        return batch

    monkeypatch.setattr(wire, "decode_batch", counted)
    return found


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)


def said(completions: list[Completion]) -> list[str]:
    return [completion.message.content for completion in completions]


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
    assert isinstance(raised, Broken) and str(raised) == "KeyError: 'my bug'"
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
    assert "unsent" not in replica.seen and lane.under_way == 0


async def test_a_call_that_is_cancelled_before_it_began_there_leaves_nothing() -> None:
    replica = Replica("r")
    async with lane_to(replica) as lane:
        await lane.call(asked("first"), may_wait=True)
        (caller,) = replica.end._callers
        caller._take(wire.encode_batch(wire.Batch([wire.Call(7, True, wire.encode_request(asked("slow")))], [])))
        caller._take(wire.encode_batch(wire.Batch([], [7])))
        assert said([await lane.call(asked("next"), may_wait=True)]) == ["r: next"]
        assert replica.seen == ["first", "next"] and caller._under_way == {}


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


async def test_an_answer_that_can_not_be_read_spoils_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    restore = wire.completion_of

    def strict(answer: wire.Answer) -> Completion:
        completion = restore(answer)
        if completion.message.content.endswith("odd"):
            raise KeyError("a field of tomorrow")
        return completion

    monkeypatch.setattr(wire, "completion_of", strict)
    replica = Replica("r")
    async with lane_to(replica) as lane:
        calls = (lane.call(asked(text), may_wait=True) for text in ("odd", "even"))
        odd, even = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(odd, Broken) and "replica r can't be read: KeyError" in str(odd)
    assert isinstance(even, Completion)


async def test_answers_in_another_protocol_end_the_lane_and_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "encode_answers", lambda answers: b"\x00 something else")
    async with lane_to(Replica("r")) as lane:
        with pytest.raises(ConnectionError, match="what replica r answers can't be read"):
            await lane.call(asked("hello"), may_wait=True)
        assert lane.is_broken


async def test_what_fails_as_a_replica_stops_is_asked_again_elsewhere() -> None:
    replica = Replica("r")
    async with lane_to(replica) as lane:
        with pytest.raises(EpisodeFailure):
            await lane.call(asked("engine died"), may_wait=True)
        replica.end.is_ending = True
        with pytest.raises(ConnectionError, match="the replica is stopping"):
            await lane.call(asked("engine died"), may_wait=True)
        with pytest.raises(EpisodeFailure):
            await lane.call(asked("fails"), may_wait=True)


async def test_who_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray_gym.lanes.caller.GREETING_S", 0.01)
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
    """What a caller can't know is told to it: the call goes on to the next replica."""
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
    monkeypatch.setattr("ray_gym.lanes.lanes.LOOK_S", 0.01)

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
    before = {key: ranked(lanes, key)[0] for key in keys}
    shares = [list(before.values()).count(lane) for lane in lanes]
    assert min(shares) > 60
    after = {key: ranked(lanes[:3], key)[0] for key in keys}
    moved = [key for key in keys if before[key] is not after[key]]
    assert {before[key] for key in moved} == {lanes[3]}


def test_requests_and_answers_are_the_same_on_the_other_side() -> None:
    call = ToolCall("call_1", "look_up", '{"stone": "slate"}')
    messages = [
        Message("system", "s"),
        Message("assistant", reasoning="r", tool_calls=(call,)),
        Message("tool", "x", tool_call_id="c"),
    ]
    sampling = Sampling(temperature=0.5, stop=("a", "b"), seed=3)
    request = CompletionRequest(messages, sampling, "session", 2**63 - 1, "policy", 2, np.arange(5, dtype=np.int32))
    request.tools, request.allowed_tools = (TOOL, TOOL), (TOOL,)
    request.tool_choice, request.response_format, request.group_id = "required", '{"type":"json_object"}', "group"
    found = wire.decode_request(wire.encode_request(request))
    assert found.history.tolist() == request.history.tolist() and found.history.dtype == np.int32
    found.history = request.history
    assert found == request
    ids, logprobs = np.arange(3, dtype=np.int32), np.array([-1, -0.5, 0], dtype=np.float32)
    completion = Completion(
        messages[1], "length", ids, (3,), ids, logprobs, (VersionSpan(4, 0, 3),), generated_tokens=3
    )
    (answer,) = wire.decode_answers(wire.encode_answers([wire.completed(7, completion)]))
    assert answer.number == 7
    assert repr(wire.completion_of(answer)) == repr(completion)


def test_lone_surrogates_do_not_spoil_a_batch() -> None:
    assert wire.decode_request(wire.encode_request(asked("a\ud800b"))).messages[0].content == "a?b"
    answer = wire.completed(1, Completion(Message("assistant", "a\ud800b")))
    assert wire.completion_of(answer).message.content == "a?b"
