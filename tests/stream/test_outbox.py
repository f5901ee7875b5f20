"""Checks what a trainer gets, in which order, and what becomes of the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ray_gym.models.versions import Versions
from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.stream.group import FinishedGroup
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.outbox import DroppedGroups, GroupQueue, Outbox
from ray_gym.stream.window import Window


def group(
    number: int, version: int | None = 0, completed: int = 2, commit: int = 1, task: str = "t", spread: bool = True
) -> FinishedGroup:
    at = (commit, f"part-{commit}", 0, 2)
    versions = {} if version is None else {"policy": version}
    return FinishedGroup(number, f"{number}-x", task, *at, completed, version, has_spread=spread, versions=versions)


def outbox_at(folder: Path, version: int = 0, drops_flat: bool = False, **options: Any) -> Outbox:
    folder.mkdir(exist_ok=True)
    given = StreamOptions(max_staleness=1, min_group_size=2, **options)
    dropped = DroppedGroups(PosixStorage.of(folder))
    return Outbox(given, Window(100), Versions(version), dropped, GroupQueue(0), drops_flat)


def taken(outbox: Outbox) -> list[int]:
    found = []
    while (one := outbox.take()) is not None:
        found.append(one.number)
    return found


async def test_files_are_delivered_in_the_order_of_their_commits(tmp_path: Path) -> None:
    outbox = outbox_at(tmp_path)
    await outbox.put(2, [group(5, commit=2)])
    assert taken(outbox) == [], "an older file is on its way"
    await outbox.put(3, [])
    await outbox.put(1, [group(7), group(6)])
    assert taken(outbox) == [7, 6, 5]


async def test_groups_without_spread_are_dropped_if_they_are_not_wanted(tmp_path: Path) -> None:
    groups = [group(0, spread=False), group(1), group(2, spread=False, completed=1)]
    kept = outbox_at(tmp_path / "kept")
    await kept.put(1, groups)
    assert taken(kept) == [0, 1]
    outbox = outbox_at(tmp_path / "dropped", drops_flat=True)
    await outbox.put(1, groups)
    assert taken(outbox) == [1] and outbox.flat == {0}
    assert [outbox.status()[name] for name in ("flat", "small", "delivered")] == [1, 1, 1]
    assert outbox.dropped.reasons({0, 2}) == {0: "flat", 2: "small"}


async def test_withheld_groups_are_delivered_whatever_their_age(tmp_path: Path) -> None:
    outbox = outbox_at(tmp_path, version=9, stale="withhold")
    await outbox.put(1, [group(0), group(1, version=8)])
    assert taken(outbox) == [0, 1] and outbox.status()["stale"] == 0


async def test_the_status_says_whose_groups_go_stale(tmp_path: Path) -> None:
    outbox = outbox_at(tmp_path, version=5)
    await outbox.put(1, [group(n, version=4 * (n % 2), task="slow") for n in range(4)])
    await outbox.put(2, [group(n, version=5, task="quick") for n in range(4, 8)])
    taken(outbox)
    assert outbox.status()["stale_by_task"] == {"slow": 0.5}


async def test_small_ones_are_dropped_at_once(tmp_path: Path) -> None:
    outbox = outbox_at(tmp_path)
    outbox.window.begin(0)
    await outbox.put(1, [group(0, completed=1), group(1)])
    assert taken(outbox) == [1] and outbox.take_dropped() == (0,) and outbox.take_dropped() == ()
    assert not outbox.window.open and outbox.counts["small"] == 1
    said = json.loads((tmp_path / "dropped" / "0.json").read_text())
    assert said["reason"] == "small" and said["completed"] == 1


async def test_those_that_wait_grow_old(tmp_path: Path) -> None:
    outbox = outbox_at(tmp_path)
    await outbox.put(1, [group(0, version=0), group(1, version=1), group(2, version=None)])
    await outbox.advance(Versions(1))
    assert outbox.counts["stale"] == 0
    await outbox.advance(Versions(2))
    assert taken(outbox) == [1, 2] and outbox.dropped.numbers() == {0}
    assert outbox.stalest == 1
    await outbox.put(2, [group(3, version=0, commit=2)])
    assert taken(outbox) == [] and outbox.dropped.numbers() == {0, 3}


async def test_each_model_has_an_age_of_its_own(tmp_path: Path) -> None:
    outbox = outbox_at(tmp_path)
    both = FinishedGroup(0, "0-x", "t", 1, "part-1", 0, 2, 2, 1, versions={"policy": 7, "user": 1})
    old = FinishedGroup(1, "1-x", "t", 1, "part-1", 2, 2, 2, 1, versions={"policy": 6, "user": 1})
    await outbox.put(1, [both, old])
    await outbox.advance(Versions(0, {"policy": 7, "user": 1}))
    assert outbox.counts["stale"] == 0
    await outbox.advance(Versions(0, {"policy": 8, "user": 1}))
    assert outbox.dropped.numbers() == {1} and taken(outbox) == [0]
    assert outbox.stalest == 1 and outbox.status()["version"] == 1
    said = json.loads((tmp_path / "dropped" / "1.json").read_text())
    assert said["versions"] == {"policy": 8, "user": 1} and said["oldest_versions"] == {"policy": 6, "user": 1}


async def test_what_grew_old_on_its_way_is_dropped_too(tmp_path: Path) -> None:
    outbox = outbox_at(tmp_path)
    await outbox.put(1, [group(0)])
    assert taken(outbox) == [0]
    await outbox.refuse(0)
    assert outbox.dropped.numbers() == {0} and outbox.counts["stale"] == 1 and outbox.counts["delivered"] == 0
    outbox.acknowledge([0])
    assert outbox.counts["acknowledged"] == 0


async def test_weights_of_a_lost_future_are_no_reason_to_drop(tmp_path: Path) -> None:
    """The trainer has died, and resumed from an older checkpoint."""
    outbox = outbox_at(tmp_path, version=3)
    await outbox.put(1, [group(0, version=9)])
    assert taken(outbox) == [0]
