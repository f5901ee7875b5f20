"""Checks compaction: committed episodes leave the file, whatever else happens to it meanwhile."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_journal import called, names, seqs

from ray_gym.journal import journal as journal_module
from ray_gym.journal.frames import Scan
from ray_gym.journal.history import HistoryReader, fence, fence_all
from ray_gym.journal.journal import Journal
from ray_gym.journal.places import Bounds, Pieces
from ray_gym.journal.records import Over


async def test_what_is_committed_is_compacted_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_FROM_BYTES", 10_000)
    journal = Journal(tmp_path / "1-0.journal", "run", flush=False)
    journal.append(called("long", 0))
    sizes = []
    for number in range(400):
        for seq in range(3):
            journal.append(called(f"e{number}", seq, payload=b"x" * 200))
        journal.append(Over(f"e{number}", 0))
        if number % 20 == 19:
            journal.forget([f"e{n}" for n in range(number - 19, number + 1)])
            await journal.compact_if_due()
            sizes.append(journal.size)
    journal.append(called("long", 1))
    assert max(sizes) < 60_000, "300 kB were written"
    assert journal.size == journal.path.stat().st_size and not journal.is_fenced()
    file = fence(journal.path, "run")
    assert file.problems == [] and seqs(tmp_path, file.name, episode="long") == [0, 1]


async def test_a_zombie_that_compacts_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_FROM_BYTES", 0)
    journal = Journal(tmp_path / "1-0.journal", "run", flush=False)
    journal.append(called("e", 0))
    journal.append(called("done", 0))
    file = fence(journal.path, "run")
    journal.forget(["done", "e"])
    await journal.compact_if_due()
    assert names(tmp_path) == [file.name] and seqs(tmp_path, file.name) == [0]


Hook = Callable[[], object]


def half_forgotten(folder: Path, monkeypatch: pytest.MonkeyPatch, *, flush: bool = False) -> Journal:
    """Returns a journal that is due to be compacted to the one record of `live`."""
    monkeypatch.setattr(journal_module, "COMPACT_FROM_BYTES", 1000)
    journal = Journal(folder / "1-0.journal", "run", flush=flush)
    journal.append(called("live", 0))
    for number in range(50):
        journal.append(called(f"e{number}", 0, payload=b"x" * 1000))
    journal.forget([f"e{number}" for number in range(50)])
    return journal


def before(monkeypatch: pytest.MonkeyPatch, name: str, hook: Hook) -> None:
    real = getattr(journal_module, name)
    monkeypatch.setattr(journal_module, name, lambda *arguments: (hook(), real(*arguments)))


def after(monkeypatch: pytest.MonkeyPatch, name: str, hook: Hook) -> None:
    real = getattr(journal_module, name)
    monkeypatch.setattr(journal_module, name, lambda *arguments: (real(*arguments), hook()))


async def test_a_fence_in_the_last_moment_of_a_compaction_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = half_forgotten(tmp_path, monkeypatch)
    before(monkeypatch, "_exchange", lambda: fence(journal.path, "run"))
    await journal.compact_if_due()
    journal.append(called("live", 1))
    [file] = fence_all(tmp_path, "run")
    assert journal.is_fenced() and names(tmp_path) == [file.name]
    assert seqs(tmp_path, file.name, episode="live") == [0] and file.episodes["live"].calls == 1


async def test_a_fence_in_the_middle_of_a_compaction_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = half_forgotten(tmp_path, monkeypatch)
    after(monkeypatch, "_copy_live", lambda: fence(journal.path, "run"))
    await journal.compact_if_due()
    assert journal.is_fenced() and [name[-7:] for name in names(tmp_path)] == [".fenced"]


async def test_where_names_cannot_be_swapped_the_file_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(errno.EINVAL, "a network filesystem")

    journal = half_forgotten(tmp_path, monkeypatch)
    before(monkeypatch, "_exchange", refuse)
    size = journal.size
    await journal.compact_if_due()
    journal.append(called("live", 1))
    assert journal.size == journal.path.stat().st_size > size and names(tmp_path) == ["1-0.journal"]
    assert not journal.is_fenced() and seqs(tmp_path, fence(journal.path, "run").name, episode="live") == [0, 1]


@pytest.mark.parametrize("where", ["_copy_live", "_exchange"])
async def test_a_compaction_for_which_there_is_no_memory_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    journal, tried = half_forgotten(tmp_path, monkeypatch), []

    def run_out_once() -> None:
        tried.append(where)
        if len(tried) == 1:
            raise MemoryError

    before(monkeypatch, where, run_out_once)
    size = journal.size
    await journal.compact_if_due()
    assert journal.size == journal.path.stat().st_size == size and names(tmp_path) == ["1-0.journal"]
    journal.append(called("done", 0, payload=bytes(size)))
    journal.forget(["done"])
    await journal.compact_if_due()
    assert tried == [where] * 2 and journal.size < 1000 and journal.broken is None
    assert held(journal) == {"live": [0]}


async def test_places_that_cannot_be_worked_out_stop_a_compaction_before_the_files_are_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, real = half_forgotten(tmp_path, monkeypatch), Pieces.move

    def run_out(pieces: Pieces, bounds: Bounds) -> Bounds:
        raise MemoryError

    monkeypatch.setattr(Pieces, "move", run_out)
    await journal.compact_if_due()
    monkeypatch.setattr(Pieces, "move", real)
    journal.append(called("live", 1))
    assert journal.size == journal.path.stat().st_size > 50_000 and not journal.is_fenced()
    assert held(journal)["live"] == [0, 1]


async def test_a_compaction_for_which_the_disk_has_no_room_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tail does not fit: a write of it is cut short, and the next one fails."""
    journal = half_forgotten(tmp_path, monkeypatch)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def come_meanwhile() -> None:
        for seq in range(1, 21):
            journal.append(called("live", seq, payload=b"x" * 1000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))

    after(monkeypatch, "_copy_live", come_meanwhile)
    try:
        await journal.compact_if_due()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    journal.append(called("live", 21))
    assert journal.broken is None and names(tmp_path) == ["1-0.journal"]
    assert seqs(tmp_path, fence(journal.path, "run").name, episode="live") == list(range(22))


async def test_what_is_appended_after_a_compaction_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds also if a flush of the larger file was still under way during the compaction."""
    journal = half_forgotten(tmp_path, monkeypatch, flush=True)
    flushing, compacted, flushes, real = threading.Event(), threading.Event(), [], os.fdatasync

    def flush(fd: int) -> None:
        flushes.append(fd)
        if len(flushes) == 1:
            flushing.set()
            assert compacted.wait(10)
        real(fd)

    monkeypatch.setattr(os, "fdatasync", flush)
    syncing = asyncio.create_task(journal.sync())
    assert await asyncio.to_thread(flushing.wait, 10)
    await journal.compact_if_due()
    assert journal.size < 1000
    compacted.set()
    await syncing
    count = len(flushes)
    await journal.sync()
    assert len(flushes) == count, "all was flushed"
    journal.append(called("live", 1))
    await journal.sync()
    assert len(flushes) == count + 1


def due_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    """Returns a journal that is compacted when half of it is forgotten, however small it is."""
    monkeypatch.setattr(journal_module, "COMPACT_FROM_BYTES", 0)
    return Journal(folder / "1-0.journal", "run", flush=False)


def held(journal: Journal) -> dict[str, list[int]]:
    """Returns the numbers of all calls in the file, by episode. The file must be whole."""
    file = fence(journal.path, "run")
    assert file.problems == []
    reader = HistoryReader(journal.path.parent)
    return {episode: [call.seq for call in reader.read(episode, [file.name]).calls] for episode in file.episodes}


@pytest.mark.parametrize("seed", range(5))
async def test_interleaved_episodes_keep_every_record_through_many_compactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Some of the compactions fail. At the end only what is in flight is left in the file and in memory."""
    rng, failing, begun = random.Random(seed), False, 0

    def fail() -> None:
        if failing:
            raise OSError(errno.EINVAL, "not now")

    before(monkeypatch, "_exchange", fail)
    journal = due_at_once(tmp_path, monkeypatch)
    live: dict[str, int] = {}
    for _ in range(3000):
        if not live or rng.random() < 0.1:
            live[f"e{begun}"] = 0
            begun += 1
        for episode in rng.sample(sorted(live), k=min(len(live), rng.randrange(4))):
            journal.append(called(episode, live[episode], payload=bytes(rng.randrange(300))))
            live[episode] += 1
        if rng.random() < 0.1:
            done = rng.sample(sorted(live), k=min(len(live), rng.randrange(3)))
            journal.forget([*done, "never heard of"])
            live = {episode: count for episode, count in live.items() if episode not in done}
            failing = rng.random() < 0.2
            await journal.compact_if_due()
    failing = False
    journal.append(called("done", 0, payload=bytes(3 * journal.size)))
    journal.forget(["done"])
    await journal.compact_if_due()
    assert journal.size == journal.path.stat().st_size < journal._places.bytes + 100, "the head, and what is in flight"
    assert held(journal) == {episode: list(range(count)) for episode, count in live.items() if count}
    journal.forget(live)
    assert (journal._places.bytes, journal._places._bounds) == (0, {})


async def test_threads_append_while_it_is_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, compacted, exchange = due_at_once(tmp_path, monkeypatch), [], journal_module._exchange
    monkeypatch.setattr(
        journal_module, "_exchange", lambda one, other: (exchange(one, other), compacted.append(journal.size))
    )
    ended = threading.Event()
    counts = {"a": 0, "b": 0}

    def append(episode: str) -> None:
        while not ended.is_set():
            journal.append(called(episode, counts[episode], payload=bytes(counts[episode] % 50)))
            counts[episode] += 1
            journal.append(Over(f"{episode}{counts[episode]}", 0))
            journal.forget([f"{episode}{counts[episode]}"])
            time.sleep(1e-4)

    threads = [threading.Thread(target=append, args=(episode,)) for episode in counts]
    for thread in threads:
        thread.start()
    try:
        while len(compacted) < 20:
            journal.append(called("done", 0, payload=bytes(3 * journal.size)))
            journal.forget(["done"])
            await journal.compact_if_due()
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    found = held(journal)
    assert {episode: found[episode] for episode in counts} == {episode: list(range(n)) for episode, n in counts.items()}


async def test_one_that_failed_is_tried_again_when_the_file_has_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, tried = half_forgotten(tmp_path, monkeypatch), []

    def refuse_twice() -> None:
        tried.append(journal.size)
        if len(tried) < 3:
            raise OSError(errno.ENOSPC, "full")

    before(monkeypatch, "_exchange", refuse_twice)
    for number in range(1000):
        journal.append(called(f"f{number}", 0, payload=bytes(500)))
        journal.forget([f"f{number}"])
        await journal.compact_if_due()
    first, second, third, fourth = tried[:4]
    assert second >= 2 * first and third >= 2 * second, "it does not try in vain at every report"
    assert fourth < first, "once it has succeeded, the file is kept as small as ever"
    assert held(journal)["live"] == [0]


async def test_damage_to_what_is_needed_is_still_reported_and_costs_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = due_at_once(tmp_path, monkeypatch)
    for seq in range(3):
        for episode in ("first", "second", "done"):
            journal.append(called(episode, seq, payload=bytes(1000 * (episode == "done"))))
    data = bytearray(journal.path.read_bytes())
    places = [offset for offset, _ in Scan(bytes(data))]
    for damaged in (4, 6):  # record 1 of `first` (the file's own record comes first), and one that is not needed
        data[places[damaged] + 40] ^= 4
    journal.path.write_bytes(bytes(data))
    journal.forget(["done"])
    await journal.compact_if_due()
    assert journal.size < 1500
    journal.append(called("second", 3))
    file = fence(journal.path, "run")
    assert len(file.problems) == 1 and "damaged" in file.problems[0] and "done" not in file.episodes
    assert seqs(tmp_path, file.name, episode="first") == [0]
    assert seqs(tmp_path, file.name, episode="second") == [0, 1, 2, 3]


@pytest.mark.parametrize("change", ["truncated", "appended to", "broken"])
async def test_a_file_that_is_not_as_it_was_written_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    journal = half_forgotten(tmp_path, monkeypatch)
    match change:
        case "truncated":
            os.truncate(journal.path, journal.size - 1)
        case "appended to":
            with journal.path.open("ab") as foreign:
                foreign.write(b"foreign")
        case "broken":
            journal.broken = OSError("a record could not be written")
    data = journal.path.read_bytes()
    await journal.compact_if_due()
    assert journal.path.read_bytes() == data and names(tmp_path) == ["1-0.journal"]


async def test_one_that_is_cancelled_is_carried_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, copied, go_on, replaced = half_forgotten(tmp_path, monkeypatch), *(threading.Event() for _ in range(3))
    after(monkeypatch, "_copy_live", lambda: (copied.set(), go_on.wait(10)))
    after(monkeypatch, "_exchange", replaced.set)
    compacting = asyncio.create_task(journal.compact_if_due())
    assert await asyncio.to_thread(copied.wait, 10)
    compacting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await compacting
    journal.forget(["live"])  # it was copied already
    go_on.set()
    assert await asyncio.to_thread(replaced.wait, 10)
    journal.append(called("next", 0))
    assert journal.size == journal.path.stat().st_size < 1000
    assert held(journal) == {"live": [0], "next": [0]}
