"""Checks what a resumed run takes over from the journals of the driver before it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.journal.history import HistoryReader
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Begun, Called
from ray_gym.run.driver.fences import Fences

SPECS = {"e": EpisodeSpec("e", "g", "t", 0, 1, "{}")}


def write(folder: Path, worker: str, attempt: int, seq: int, *adopted: str, run: str = "run") -> None:
    journal = Journal(folder / f"{worker}.journal", run, flush=False)
    journal.append(Begun("e", 0, attempt, 1.0, adopted))
    journal.append(Called("e", 0, attempt, seq, seq, "policy", seq, b"", 0.0, 0.0, 0.0, msgspec.Raw(b"\xc0")))
    journal.close()


def test_the_newest_attempt_counts_whichever_worker_made_it(tmp_path: Path) -> None:
    """Worker 1-3 was lost, and 1-1, which began before it, went on with its episode."""
    write(tmp_path, "1-3", 0, 0)
    fences = Fences(tmp_path, "run")
    lost = fences.fence_lost("1-3", SPECS)
    assert lost is not None
    write(tmp_path, "1-1", 1, 1, lost.name)
    lease = Fences(tmp_path, "run").take_over(SPECS)["e"]
    assert lease.spec.attempt == 2
    assert lease.adopted[0] == lost.name and [name.partition(".")[0] for name in lease.adopted] == ["1-3", "1-1"]


def test_a_journal_is_kept_only_for_what_is_not_committed(tmp_path: Path) -> None:
    fences = Fences(tmp_path, "run")
    for worker, held in (("1-0", []), ("1-1", ["e"])):
        write(tmp_path, worker, 0, 0)
        fences.fence_lost(worker, held)
    assert [path.name.partition(".")[0] for path in tmp_path.iterdir()] == ["1-1"]
    fences.release(["e"])
    assert not list(tmp_path.iterdir())


def test_what_is_not_the_runs_stops_nothing_and_stays(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    folder.mkdir()
    write(folder, "1-0", 0, 0)
    write(folder, "1-1", 0, 0, run="other")
    write(folder, "1-2", 0, 0, run="other")
    (folder / "1-2.journal").rename(folder / "1-2.99.999.fenced")
    (folder / "notes.journal").write_text("mine")
    (folder / "mine.compacting").write_text("mine")
    (folder / "1-3.journal").write_text("mine")
    (folder / "9-9.journal").mkdir()
    others = {"1-1.journal", "1-2.99.999.fenced", "1-3.journal", "9-9.journal", "mine.compacting", "notes.journal"}
    fences = Fences(folder, "run")
    assert fences.take_over(SPECS)["e"].spec.attempt == 1
    assert {problem.partition(":")[0] for problem in fences.problems} == others
    assert fences.fence_lost("1-1", SPECS) is not None, "its name was taken: the worker could not begin"
    write(folder, "2-0", 1, 1)
    fences.release(["e"])
    fences.remove()
    assert {path.name for path in folder.iterdir()} == others


def test_a_folder_of_nothing_else_goes_with_its_run(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    folder.mkdir()
    write(folder, "1-0", 0, 0)
    (folder / "1-1.compacting").write_bytes(b"")
    Fences(folder, "run").remove()
    assert not folder.exists()


def test_a_damaged_beginning_does_not_lose_what_older_attempts_recorded(tmp_path: Path) -> None:
    write(tmp_path, "1-0", 0, 0)
    write(tmp_path, "1-1", 1, 1, "1-0.0.fenced")
    second = tmp_path / "1-1.journal"
    data = bytearray(second.read_bytes())
    data[data.index(b"1-0.0.fenced")] ^= 8
    second.write_bytes(bytes(data))
    fences = Fences(tmp_path, "run")
    lease = fences.take_over(SPECS)["e"]
    assert lease.spec.attempt == 2 and [name.partition(".")[0] for name in lease.adopted] == ["1-0", "1-1"]
    assert [call.seq for call in HistoryReader(tmp_path).read("e", lease.adopted).calls] == [0, 1]
    assert "damaged" in fences.problems[0]


def test_what_a_worker_that_died_in_mid_compaction_was_writing_goes_with_it(tmp_path: Path) -> None:
    for worker, run in (("1-0", "run"), ("1-1", "other")):
        write(tmp_path, "1-9", 0, 0, run=run)
        (tmp_path / "1-9.journal").rename(tmp_path / f"{worker}.compacting")
        write(tmp_path, worker, 0, 0)
    fences = Fences(tmp_path, "run")
    for worker in ("1-0", "1-1"):
        assert fences.fence_lost(worker, SPECS) is not None
    left = [path.name for path in tmp_path.iterdir() if path.suffix == ".compacting"]
    assert left == ["1-1.compacting"], "only what is another run's"
