"""Checks the state of a rollout when a service is started again, from what its directory says."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.record.schema import as_table, failed_row
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.directory.location import storage_at
from ray_gym.run.driver.driver import Outcome
from ray_gym.run.driver.tally import Tally
from ray_gym.service.rollouts.rollout import CANCELLED, Rollout, read_rollout


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    """Returns a run's directory with one episode of three committed."""
    made = RunDirectory(storage_at(str(tmp_path / "run")))
    made.storage.create()
    made.open()
    made.storage.write("request.json", rollout().as_json({"generate": 3}, None))
    made.storage.stage(
        "part-1-0-00000.parquet", as_table([failed_row(EpisodeSpec("e", "g", "t", 0, 0, "{}"), "r", "e", "x")])
    )
    made.commit("part-1-0-00000.parquet")
    return made


def rollout() -> Rollout:
    return Rollout("run", "ann", "body", "env", 3, created_at=5.0, notes=["odd"])


def ended(directory: RunDirectory, rollout: Rollout, **outcome: Any) -> Rollout:
    """Sums up a rollout, and returns it as it is read from its directory."""
    tally = Tally.of_resumed(3, directory.committed())
    rollout.begin(tally)
    own = rollout.end(Outcome(tally, **outcome))
    rollout.release()
    summary = {"interrupted": outcome["interrupted"], "failure": outcome.get("failure"), **tally.summary(), **own}
    directory.write_summary(summary)
    found = read_rollout(directory.path)
    assert found is not None
    return found


def test_the_status_says_while_workers_take_long_to_start() -> None:
    subject, tally = rollout(), Tally(3)
    subject.begin(tally)
    assert subject.status().waiting is None
    tally.slow_start = "no worker has started within 20 s: none is free"
    assert subject.status().waiting == tally.slow_start and subject.status().notes == ["odd"]
    subject.release()
    assert subject.status().waiting is None


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        ({"interrupted": False}, "done"),
        ({"interrupted": True}, "queued"),
        ({"interrupted": True, "failure": "too many"}, "failed"),
    ],
)
def test_it_stands_as_it_was_left(directory: RunDirectory, outcome: dict[str, Any], state: str) -> None:
    before = rollout()
    found = ended(directory, before, **outcome)
    assert found.status() == before.status() and found.state == state and found.commits == 1
    assert found.status().statuses == {"failed": 1} and (found.ended_at is None) == (state == "queued")
    assert (found.id, found.caller, found.body) == ("run", "ann", "body")


def test_a_cancelled_one_stays_so_also_if_the_service_died_before_it_could_sum_up(directory: RunDirectory) -> None:
    assert read_rollout(directory.path).state == "queued"  # type: ignore[union-attr]
    (directory.path / CANCELLED).touch()
    found = read_rollout(directory.path)
    assert found is not None and found.state == "cancelled" and found.ended_at is not None
    assert found.status().statuses == {"failed": 1}
    before = rollout()
    before.state = "cancelled"
    assert ended(directory, before, interrupted=True).status() == before.status()


def test_one_that_the_command_line_has_resumed_has_ended(directory: RunDirectory) -> None:
    directory.write_summary({"interrupted": False, "failure": None, **Tally(3).summary()})
    found = read_rollout(directory.path)
    assert found is not None and found.state == "done" and found.ended_at is not None


def test_what_is_no_rollout_is_left_out(directory: RunDirectory, tmp_path: Path) -> None:
    assert read_rollout(tmp_path) is None
    for text in ("{", "[]", json.dumps({"caller": "ann"})):
        (directory.path / "request.json").write_text(text)
        assert read_rollout(directory.path) is None


async def test_whoever_waits_hears_of_every_change(directory: RunDirectory) -> None:
    one = rollout()
    heard: list[int] = []

    async def listen() -> None:
        while one.ended_at is None:
            await one.wait_for_change()
            heard.append(one.commits)

    listening = asyncio.create_task(listen())
    for step in (lambda: one.note_commit(1), lambda: one.note_commit(1), lambda: one.note_commit(2)):
        await asyncio.sleep(0)
        step()
    await asyncio.sleep(0)
    one.end(Outcome(Tally(3), interrupted=False))
    one.release()
    await asyncio.wait_for(listening, 5)
    assert heard == [1, 2, 2]
