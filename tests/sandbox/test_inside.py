"""Checks the parts of the supervisor by themselves: frames, and what is kept of outputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ray_gym.sandbox.inside import frames, watch
from ray_gym.sandbox.inside.capture import Capture

MESSAGES = st.lists(
    st.tuples(st.dictionaries(st.text(max_size=3), st.integers(), max_size=2), st.binary(max_size=50)), max_size=4
)


@given(MESSAGES, st.integers(1, 40))
def test_frames_come_out_as_they_went_in_however_they_are_cut(
    messages: list[tuple[dict[str, int], bytes]], size: int
) -> None:
    stream = b"".join(frames.pack(*each) for each in messages)
    reader = frames.FrameReader()
    assert [got for at in range(0, len(stream), size) for got in reader.feed(stream[at : at + size])] == messages


@pytest.mark.parametrize("stream", [b"\xff" * 8, frames.HEADER.pack(2, 0) + b"[]", frames.HEADER.pack(2, 0) + b"{["])
def test_what_is_no_frame_is_refused(stream: bytes) -> None:
    with pytest.raises(ValueError):
        frames.FrameReader().feed(stream)


@given(st.lists(st.binary(max_size=30)), st.integers(0, 20), st.integers(0, 20))
def test_the_first_and_the_last_bytes_are_kept(parts: list[bytes], head: int, tail: int) -> None:
    capture, data = Capture(head, tail), b"".join(parts)
    assert b"".join(capture.add(part) for part in parts) == data[:head]
    rest = data[head:]
    assert capture.end() == data[:head] + rest[max(0, len(rest) - tail) :]
    assert capture.dropped == max(0, len(rest) - tail)


@pytest.mark.parametrize(
    ("told", "kills"),
    [
        ("low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\noom_group_kill 0\n", 2),
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", 3),
        ("low 0\n", 0),
        ("what is this\n", 0),
        (None, 0),
    ],
)
def test_a_container_knows_which_processes_were_killed_for_their_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str | None, kills: int
) -> None:
    file = tmp_path / "memory.events"
    monkeypatch.setattr(watch, "KILLS", (str(tmp_path / "not there"), str(file)))
    if told is not None:
        file.write_text(told)
    assert watch.memory_kills() == kills


def test_memory_that_nobody_can_measure_in_time_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest process is measured in any case; the others have the same share of memory of their own."""
    found = [watch.Process(pid, 1, 1, resident) for pid, resident in ((2, 100), (3, 300), (4, 200))]
    monkeypatch.setattr(watch, "_own_share", lambda process: process.resident // 10)
    assert watch.memory_of(found, 1000) == 600, "not measured, as it is below the limit"
    assert watch.memory_of(found, 500) == 60
    measured = []
    monkeypatch.setattr(watch, "MEASURE_S", -1)
    monkeypatch.setattr(watch, "_own_share", lambda process: measured.append(process.pid) or 30)
    assert watch.memory_of(found, 500) == 60 and measured == [3]
