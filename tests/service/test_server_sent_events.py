"""The examples of the HTML standard, and what its grammar allows besides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ray_gym.client.server_sent_events import EventParser

Events = list[tuple[str, str, str]]


def parsed(*pieces: bytes) -> Events:
    parser = EventParser()
    return [(event.type, event.data, event.id) for piece in pieces for event in parser.feed(piece)]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [("message", "YHOO\n+2\n10", "")]),
        (
            b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            [("message", "first event", "1"), ("message", "second event", ""), ("message", " third event", "")],
        ),
        (b"data\n\ndata\ndata\n\ndata:\n", [("message", "", ""), ("message", "\n", "")]),
        (b"data:test\n\ndata: test\n\n", [("message", "test", "")] * 2),
        (b"event: add\ndata: 1\n\ndata: 2\n\n", [("add", "1", ""), ("message", "2", "")]),
        (b"event: lost\n\ndata: 1\n\n", [("message", "1", "")]),
        (b"id: 7\n\ndata: later\n\n", [("message", "later", "7")]),
        (b"id: 7\ndata: 1\n\ndata: 2\n\n", [("message", "1", "7"), ("message", "2", "7")]),
        (b"id: 7\ndata: 1\n\nid: 8\0\ndata: 2\n\n", [("message", "1", "7"), ("message", "2", "7")]),
        (b"\xef\xbb\xbfdata: marked\n\n", [("message", "marked", "")]),
        (b"data: a\r\rdata: b\r\n\r\ndata: c\n\n", [("message", "a", ""), ("message", "b", ""), ("message", "c", "")]),
        (b"data: a\r\nid: 2\r\ndata: b\r\n\r\n", [("message", "a\nb", "2")]),
        (b"Data: 1\nunknown: 2\n\n", []),
        (b"data: a\xe2\x80\xa8b\x0bc\xc2\x85d\n\n", [("message", "a\u2028b\x0bc\x85d", "")]),
        (b"data: a:b: c\n\n", [("message", "a:b: c", "")]),
        (b"data: \xff\n\n", [("message", "\ufffd", "")]),
        (b"data: not complete\n", []),
    ],
)
def test_streams(stream: bytes, events: Events) -> None:
    assert parsed(stream) == parsed(*(bytes([byte]) for byte in stream)) == events


LINES = [b"data: one", b"data:", b"id: 4", b"id", b"event: group", b": comment", "data: ü€😀".encode(), b"", b""]


@given(st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from([b"\n", b"\r", b"\r\n"]))), st.data())
def test_how_a_stream_is_cut_into_pieces_changes_nothing(lines: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
    stream = b"".join(line + end for line, end in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parsed(*pieces) == parsed(stream)


def test_the_last_id_is_that_of_the_last_complete_event() -> None:
    parser = EventParser("3")
    assert list(parser.feed(b"id: 4\ndata: half an event\n")) == [] and parser.last_id == "3"
    assert [event.id for event in parser.feed(b"\n")] == ["4"] and parser.last_id == "4"


@pytest.mark.parametrize(("said", "retry_s"), [("1500", 1.5), ("soon", None), ("-1", None), ("9" * 5000, None)])
def test_retry(said: str, retry_s: float | None) -> None:
    parser = EventParser()
    assert list(parser.feed(f"retry: {said}\n\n".encode())) == [] and parser.retry_s == retry_s
