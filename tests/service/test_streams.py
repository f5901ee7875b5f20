"""Streams groups from files that are there: shared by all who follow one run, bounded, and never with a gap."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from asked import asked
from committed_run import CommittedRun
from fastapi import FastAPI

from ray_gym.deployments.gateway.doors import group_events, rollouts
from ray_gym.deployments.gateway.doors.group_events import GroupEvents
from ray_gym.deployments.gateway.doors.rollouts import rollout_routes
from ray_gym.deployments.gateway.guards import errors
from ray_gym.service.api import RolloutStatus

STATUS = RolloutStatus(
    id="r", environment="env", state="done", episodes=9, statuses={}, stop_reasons={}, reward_mean=None, failure=None,
    created_at=0, started_at=0, ended_at=1,
)  # fmt: skip


class Ended:
    """This service has one rollout, which is over."""

    def __init__(self, run: CommittedRun) -> None:
        self._run = run

    async def location(self, caller: str, run_id: str) -> str:
        return self._run.location

    async def wait(self, caller: str, run_id: str, commits: int, timeout_s: float) -> tuple[RolloutStatus, int]:
        return STATUS, self._run.commits


@pytest.fixture
def run(tmp_path: Path) -> CommittedRun:
    return CommittedRun(tmp_path / "run")


def client(run: CommittedRun) -> httpx.AsyncClient:
    app = FastAPI()
    errors.register(app)
    app.include_router(rollout_routes(asked(Ended(run)), lambda: "ann"))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service")


async def stream(http: httpx.AsyncClient, cursor: str) -> list[tuple[str, str]]:
    """Returns the kinds and the ids of one connection's events."""
    answer = await http.get("/v1/rollouts/r/stream", params={"cursor": cursor})
    assert answer.status_code == 200, answer.text
    blocks = [dict(line.split(": ", 1) for line in block.splitlines()) for block in answer.text.split("\n\n")[1:-1]]
    return [(block["event"], block.get("id", "")) for block in blocks]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Returns the places of which events were made."""
    places: list[Any] = []
    make = group_events._encode_groups

    def noted(location: str, cursor: str, samples: bool, commits: int) -> Any:
        places.append((cursor, samples))
        return make(location, cursor, samples, commits)

    monkeypatch.setattr(group_events, "_encode_groups", noted)
    return places


async def test_streams_of_one_run_share_what_is_made(run: CommittedRun, made: list[Any]) -> None:
    for n in range(5):
        run.commit([f"{n}a", f"{n}b"], [f"{n}c"])
    async with client(run) as http:
        found = await asyncio.gather(*(stream(http, "0.0") for _ in range(64)))
    assert all(one == found[0] for one in found) and len(found[0]) == 11
    places = [place for place in made if place != ("5.3", True)]  # nothing is there yet: that is looked at again
    assert sorted(places) == [("0.0", True), *((f"{n}.3", True) for n in range(1, 5))]


async def test_what_is_kept_of_them_is_bounded(run: CommittedRun, made: list[Any]) -> None:
    run.commit(["a"])
    run.commit(["b"])
    first = await GroupEvents().read_after(run.location, "0.0", True, 2)
    assert first is not None
    events = GroupEvents(kept_bytes=len(first.data) * 3 // 2)
    for cursor in ("0.0", "0.0", "1.1", "1.1", "0.0"):
        await events.read_after(run.location, cursor, True, 2)
    assert made[1:] == [("0.0", True), ("1.1", True), ("0.0", True)]


async def test_who_goes_leaves_the_others_what_they_wait_for(run: CommittedRun) -> None:
    run.commit(["a"])
    events = GroupEvents()
    going, staying = (asyncio.create_task(events.read_after(run.location, "0.0", True, 1)) for _ in range(2))
    await asyncio.sleep(0)
    going.cancel()
    found = await staying
    assert found is not None and found.cursor == "1.1" and going.cancelled()


async def test_a_stream_that_nothing_holds_back_ends_and_is_resumed(
    run: CommittedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(4):
        run.commit([f"{n}"])
    monkeypatch.setattr(rollouts, "UNPACED_BYTES", 1)
    seen, cursor = [], "0.0"
    async with client(run) as http:
        while (events := await stream(http, cursor))[-1][0] != "end":
            assert len(events) == 1
            seen.append(cursor := events[0][1])
    assert seen == ["1.1", "2.1", "3.1", "4.1"]


async def test_who_comes_to_a_file_that_is_lost_is_told(run: CommittedRun) -> None:
    for name in "abc":
        run.commit([name])
    run.file_of(2).write_bytes(b"nonsense")
    async with client(run) as http:
        assert await stream(http, "0.0") == [("group", "1.1")], "without an end"
        for path in ("stream", "episodes"):
            answer = await http.get(f"/v1/rollouts/r/{path}", params={"cursor": "1.1"})
            assert answer.status_code == 500
            told = json.loads(answer.text)["error"]
            assert told["code"] == "damaged_episodes" and run.location not in answer.text
        assert await stream(http, "3.0") == [("group", "3.1"), ("end", "")]
