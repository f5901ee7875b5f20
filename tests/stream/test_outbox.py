"""Checks what a trainer gets, in which order, and what becomes of the rest."""

from __future__ import annotations

import json
from pathlib import Path

from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.stream.group import FinishedGroup
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.outbox import DroppedGroups, GroupQueue, Outbox
from ray_gym.stream.window import Window


def group(number: int, version: int | None = 0, completed: int = 2, commit: int = 1) -> FinishedGroup:
    return FinishedGroup(number, f"{number}-x", "t", commit, f"part-{commit}", 0, 2, completed, version)


def outbox_at(folder: Path, version: int = 0) -> Outbox:
    folder.mkdir(exist_ok=True)
    options = StreamOptions(max_staleness=1, min_group_size=2)
    return Outbox(options, Window(100), version, DroppedGroups(PosixStorage.of(folder)), GroupQueue(0))


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
    await outbox.advance(1)
    assert outbox.counts["stale"] == 0
    await outbox.advance(2)
    assert taken(outbox) == [1, 2] and outbox.dropped.numbers() == {0}
    assert outbox.stalest == 1
    await outbox.put(2, [group(3, version=0, commit=2)])
    assert taken(outbox) == [] and outbox.dropped.numbers() == {0, 3}


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
