"""Checks rollouts of weeks: few are in memory, and all can be asked for."""

from __future__ import annotations

import json
from pathlib import Path

from ray_gym.service.rollouts.rollout import CANCELLED, Rollout
from ray_gym.service.rollouts.rollout_store import RolloutStore


def name(n: int) -> str:
    return f"{n:032x}"


def kept(folder: Path, n: int, caller: str = "ann", *, over: bool = True) -> Rollout:
    """Returns a rollout whose directory is there."""
    rollout = Rollout(name(n), caller, "body", "env", 2, created_at=float(n))
    (folder / rollout.id).mkdir(parents=True)
    (folder / rollout.id / "request.json").write_bytes(rollout.as_json({"generate": 2}, None))
    if over:
        rollout.state, rollout.ended_at, rollout.is_on_disk = "done", n + 0.5, True
        summary = {"status": {"completed": 2}, "stop_reasons": {}, "mean_reward": n, "interrupted": False}
        summary |= {"failure": None, "started_at": n, "ended_at": rollout.ended_at}
        (folder / rollout.id / "summary.json").write_text(json.dumps(summary))
    return rollout


async def test_old_rollouts_are_read_from_disk(tmp_path: Path) -> None:
    store = RolloutStore(tmp_path, most=3)
    for n in range(10):
        store.add(kept(tmp_path, n, over=n != 1))
        store.forget_old("ann")
    store.add(kept(tmp_path, 10, "bob"))
    assert sorted(one.created_at for one in store.list_of("ann")) == [1, 7, 8, 9], "who is not over is never forgotten"
    assert store.count_states() == {"done": 10, "queued": 1} and len(list(store.in_memory)) == 5
    found = await store.find(name(4))
    assert found is not None and (found.caller, found.state, found.ended_at) == ("ann", "done", 4.5)
    assert found.status().reward_mean == 4 and len(list(store.in_memory)) == 5
    for unknown in ("0" * 31 + "f", "../" + name(4), "", name(4) + "/."):
        assert await store.find(unknown) is None


async def test_after_a_restart_as_few_are_in_memory(tmp_path: Path) -> None:
    for n in range(6):
        kept(tmp_path, n, over=n not in (0, 3))
    (tmp_path / name(2) / CANCELLED).touch()
    (tmp_path / name(77)).mkdir()
    store = RolloutStore(tmp_path, most=2)
    assert [one.created_at for one in await store.recover()] == [0, 3]
    assert sorted(one.created_at for one in store.list_of("ann")) == [0, 3, 4, 5]
    assert await store.find(name(1)) is not None
    assert not (tmp_path / name(77)).exists(), "it was never promised to anybody"


async def test_what_is_not_on_disk_stays_in_memory(tmp_path: Path) -> None:
    """The rollout could not be opened: a later service resumes it."""
    store = RolloutStore(tmp_path, most=0)
    rollout = kept(tmp_path, 1, over=False)
    store.add(rollout)
    rollout.fail("no space")
    store.forget_old("ann")
    assert await store.find(rollout.id) is rollout
