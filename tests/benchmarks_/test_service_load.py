"""Checks what the verdicts of the service's load benchmark rest on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.service_load.counts import RequestCounts
from benchmarks.service_load.games import Game
from benchmarks.service_load.memory import Series, growth
from benchmarks.service_load.records import check_games, check_streams
from benchmarks.service_load.streams import Followed


def event(text: str, *calls: str) -> dict[str, Any]:
    made = [{"id": "c", "name": "make_move", "arguments": arguments} for arguments in calls]
    said = [{"type": "text", "text": text}] if text else []
    return {"thread": "policy", "role": "assistant", "tool_calls": made, "content": said}


def row(reward: float = 1.0, *events: dict[str, Any]) -> dict[str, Any]:
    return {"episode_id": "s", "status": "completed", "reward": reward, "events": list(events)}


def test_a_session_is_in_the_table_once_with_what_its_client_did() -> None:
    game = Game("k", 0, "s", 1.0, 2.0, "completed", 1.0, [("move", "{}"), ("say", "Your turn.")])
    right = row(1.0, event("", "{}"), event("Your turn."))
    assert check_games([right], [game]) == []
    assert check_games([], [game]) and check_games([right, right], [game]) and check_games([right], [])
    assert check_games([row(0.0, *right["events"])], [game])
    assert check_games([row(1.0, event("", "{}"))], [game])
    assert check_games([row(1.0, *reversed(right["events"]))], [game])


def test_a_stream_has_each_group_once(tmp_path: Path) -> None:
    episodes = tmp_path / "r" / "episodes"
    episodes.mkdir(parents=True)
    pq.write_table(pa.table({"group_id": ["a", "a", "b", "b"]}), episodes / "one.parquet")
    assert check_streams(tmp_path, [Followed("r", Counter(a=1, b=1), "done")], groups=2) == []
    for groups, of in ((Counter(a=1, b=2), 2), (Counter(a=1), 2), (Counter(a=1, b=1, c=1), 2), (Counter(a=1, b=1), 3)):
        assert check_streams(tmp_path, [Followed("r", groups, "done")], groups=of)


def test_growth_is_from_the_middle_third_to_the_last_of_those_that_were_there() -> None:
    times = [float(second) for second in range(31)]
    grown = growth(Series("worker", times, [100 * 2**20 if at <= 20 else 120 * 2**20 for at in times]), 30)
    assert grown == pytest.approx(0.2)
    assert growth(Series("born late", times[15:], [2**20] * 16), 30) is None


def test_waiting_is_counted_apart() -> None:
    counts = RequestCounts()
    for status in (201, 429, 503, 503):
        counts.count_answer("POST /v1/sessions", status, 0.5)
    assert (counts.requests, counts.asked_to_wait) == (4, 3)
    [line] = counts.lines()
    assert line["answers"] == "201: 1, 429: 1, 503: 2" and line["p50 ms"] == pytest.approx(500)
