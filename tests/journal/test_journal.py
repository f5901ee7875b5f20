"""Checks the journal's files: each has one writer, is readable after any death, and is bounded by what is in flight."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from conftest import REPOSITORY
from hypothesis import given, settings
from hypothesis import strategies as st

from ray_gym.errors import remedy_of
from ray_gym.journal.frames import HEAD, Scan, frame
from ray_gym.journal.history import HistoryReader, fence, fence_all, late_bytes
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import (
    SETUP,
    Begun,
    Called,
    Charged,
    Commanded,
    EpisodeRecord,
    Intended,
    Over,
    Tried,
    encode,
)


def called(episode: str, seq: int, attempt: int = 0, try_: int = 0, payload: bytes = b"answer") -> Called:
    answer = msgspec.Raw(msgspec.msgpack.encode(payload))
    return Called(episode, try_, attempt, seq, seq, "policy", seq, b"q", 0.5, 1.0, 0.1, answer)


def written(folder: Path, name: str = "1-0", run: str = "run", calls: int = 5) -> Path:
    journal = Journal(folder / f"{name}.journal", run, flush=False)
    journal.append(Begun("e", 0, 0, 1.0))
    for seq in range(calls):
        journal.append(called("e", seq))
    journal.close()
    return journal.path


def seqs(folder: Path, *files: str, episode: str = "e") -> list[int]:
    return [call.seq for call in HistoryReader(folder).read(episode, files).calls]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    file = fence(written(tmp_path), "run")
    assert file.problems == [] and file.episodes["e"].calls == 5 and not file.episodes["e"].over
    history = HistoryReader(tmp_path).read("e", [file.name])
    assert [call.seq for call in history.calls] == [0, 1, 2, 3, 4] and history.started_at == 1.0
    assert msgspec.msgpack.decode(history.calls[0].answer) == b"answer"


def test_a_torn_end_costs_the_last_record_only(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:-3])
    file = fence(path, "run")
    assert "is torn" in file.problems[0] and seqs(tmp_path, file.name) == [0, 1, 2, 3]


def test_a_flipped_bit_costs_its_record_and_what_an_episode_did_after_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "1-0.journal", "run", flush=False)
    for seq in range(3):
        journal.append(called("first", seq))
        journal.append(called("second", seq))
    data = bytearray(journal.path.read_bytes())
    places = [offset for offset, _ in Scan(bytes(data))]
    data[places[3] + 40] ^= 4  # record 1 of `first`: the file's own record comes first
    journal.path.write_bytes(bytes(data))
    file = fence(journal.path, "run")
    assert "damaged" in file.problems[0]
    assert seqs(tmp_path, file.name, episode="first") == [0], "no call is answered from after a gap"
    assert seqs(tmp_path, file.name, episode="second") == [0, 1, 2]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_damage_makes_up_a_record(data: st.DataObject) -> None:
    payloads = [encode(called("e", seq, payload=bytes([seq]) * seq)) for seq in range(4)]
    whole = HEAD + b"".join(frame(payload) for payload in payloads)
    damaged = bytearray(whole[: data.draw(st.integers(len(HEAD) + 1, len(whole)))])
    for _ in range(data.draw(st.integers(0, 3))):
        damaged[data.draw(st.integers(len(HEAD), len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    scan = Scan(bytes(damaged))
    found = [payload for _, payload in scan]
    assert all(payload in payloads for payload in found), "nothing is read that was not written"
    whole_frames = [len(HEAD) + sum(len(frame(p)) for p in payloads[: n + 1]) for n in range(4)]
    assert scan.problems or len(found) == 4 or len(damaged) in whole_frames, "what is missing was reported"


def test_empty_and_foreign_files_are_reported_and_the_rest_is_used(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "1-1.journal").write_bytes(b"")
    (tmp_path / "1-2.journal").write_bytes(b"PAR1 something else")
    written(tmp_path, "1-3", run="other")
    (tmp_path / "notes.txt").write_text("mine")
    files = {file.name.split(".")[0]: file for file in fence_all(tmp_path, "run")}
    assert "empty" in files["1-1"].problems[0] and "not a journal" in files["1-2"].problems[0]
    assert "another run" in files["1-3"].problems[0] and files["1-3"].episodes == {}
    assert "left as it is" in files["notes"].problems[0]
    assert {"1-2.journal", "1-3.journal", "notes.txt"} < set(names(tmp_path)), (
        "what is not the run's is not even renamed"
    )
    assert files["1-0"].problems == [] and files["1-0"].episodes["e"].calls == 5


def test_what_a_zombie_writes_after_the_fence_is_never_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "1-0.journal", "run", flush=False)
    journal.append(called("e", 0))
    file = fence(journal.path, "run")
    assert journal.is_fenced()
    journal.append(called("e", 1))
    journal.append(Charged("e", 0, "late"))
    assert seqs(tmp_path, file.name) == [0] and late_bytes(tmp_path / file.name) > 0
    [again] = fence_all(tmp_path, "run")
    assert again.name == file.name and again.episodes["e"].calls == 1 and again.episodes["e"].charged is None


def test_a_fence_that_was_interrupted_is_finished(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.rename(tmp_path / "1-0.fencing")
    [file] = fence_all(tmp_path, "run")
    assert seqs(tmp_path, file.name) == [0, 1, 2, 3, 4]


def test_older_attempts_come_first_and_the_newest_try_counts(tmp_path: Path) -> None:
    for attempt, records in enumerate(
        [
            [Begun("e", 0, 0, 1.0), called("e", 0), called("e", 1)],
            [
                Begun("e", 0, 1, 9.0),
                called("e", 2, 1),
                Begun("e", 1, 1, 5.0, cause="user: silent"),
                called("e", 0, 1, 1),
            ],
        ]
    ):
        journal = Journal(tmp_path / f"1-{attempt}.journal", "run", flush=False)
        for record in records:
            journal.append(record)
    names = [file.name for file in fence_all(tmp_path, "run")]
    first = HistoryReader(tmp_path).read("e", names[:1])
    assert (first.try_, [call.seq for call in first.calls]) == (0, [0, 1])
    both = HistoryReader(tmp_path).read("e", names)
    assert (both.try_, [call.seq for call in both.calls], both.started_at) == (1, [0], 5.0)
    assert both.causes == {1: "user: silent"}


def lay_down(folder: Path, *attempts: list[EpisodeRecord]) -> list[str]:
    """Writes a fenced file for each attempt, and returns their names."""
    files = []
    for attempt, records in enumerate(attempts):
        journal = Journal(folder / f"1-{attempt}.journal", "run", flush=False)
        for record in records:
            journal.append(record)
        journal.close()
        files.append(fence(journal.path, "run").name)
    return files


def made_in(calls: list[Called]) -> list[tuple[int, int]]:
    return [(call.seq, call.attempt) for call in calls]


def test_what_an_attempt_did_not_adopt_of_an_older_one_is_never_used(tmp_path: Path) -> None:
    """Record 3 of the first attempt is damaged: the second goes on from 0 to 2, and its 4 is damaged too."""
    first = [called("e", seq) for seq in (0, 1, 2, 4, 5, 6, 7)]
    second = [called("e", seq, 1) for seq in (3, 5)]
    third = [called("e", seq, 2) for seq in (4, 5)]
    read, files = HistoryReader(tmp_path).read, lay_down(tmp_path, first, second, third)
    assert made_in(read("e", files[:1]).calls) == [(0, 0), (1, 0), (2, 0)]
    assert made_in(read("e", files[:2]).calls) == [(0, 0), (1, 0), (2, 0), (3, 1)]
    assert made_in(read("e", files).calls) == [(0, 0), (1, 0), (2, 0), (3, 1), (4, 2), (5, 2)]


def test_commands_beyond_what_was_adopted_are_never_used(tmp_path: Path) -> None:
    def command(index: int, attempt: int) -> Commanded:
        return Commanded("e", 0, attempt, index, msgspec.Raw(b"\xc0"))

    files = lay_down(tmp_path, [command(0, 0), command(2, 0), command(3, 0)], [command(1, 1), command(2, 1)])
    commands = HistoryReader(tmp_path).read("e", files).commands
    assert [(one.index, one.attempt) for one in commands] == [(0, 0), (1, 1), (2, 1)]


def test_of_steps_counts_what_was_carried_out_of_the_commands_that_count(tmp_path: Path) -> None:
    """The first attempt's second command is damaged: the second attempt was given another one, and ended in its third."""

    def command(index: int, attempt: int) -> list[EpisodeRecord]:
        return [Commanded("e", 0, attempt, index, msgspec.Raw(b"\xc0")), tried(index, attempt)]

    def tried(step: int, attempt: int, survived: bool = False) -> Tried:
        return Tried("e", 0, attempt, step, survived)

    first = [tried(SETUP, 0), tried(SETUP, 0, True), *command(0, 0), tried(0, 0, True), tried(1, 0, True)]
    second = [*command(1, 1), *command(2, 1), tried(1, 1, True)]
    names = lay_down(tmp_path, [*first, *command(2, 0), tried(2, 0, True)], second)
    read = HistoryReader(tmp_path).read
    assert read("e", names[:1]).survived == {SETUP, 0}
    assert read("e", names).survived == {SETUP, 0, 1}
    [_, found] = [fence(tmp_path / name, "run").episodes["e"] for name in names]
    assert (found.trying, found.survived) == ({2}, {1})


def test_who_is_over_tries_nothing_any_more(tmp_path: Path) -> None:
    [name] = lay_down(tmp_path, [Tried("e", 0, 0, 3, False), Over("e", 0)])
    assert fence(tmp_path / name, "run").episodes["e"].trying == set()


def test_a_newer_try_leaves_nothing_of_older_ones(tmp_path: Path) -> None:
    first = [Begun("e", 0, 0, 1.0), called("e", 0), called("e", 1), Intended("e", 0, 0, "pay", 0)]
    second = [Begun("e", 0, 1, 2.0), Begun("e", 1, 1, 3.0, cause="user: silent"), called("e", 0, 1, 1)]
    third = [called("e", 2, 2, 0), called("e", 1, 2, 1)]
    history = HistoryReader(tmp_path).read("e", lay_down(tmp_path, first, second, third))
    assert made_in(history.calls) == [(0, 1), (1, 2)] and history.intended == set() and history.started_at == 3.0


def test_a_flipped_bit_in_the_head_costs_nothing(tmp_path: Path) -> None:
    path = written(tmp_path)
    data = bytearray(path.read_bytes())
    data[3] ^= 1
    path.write_bytes(bytes(data))
    file = fence(path, "run")
    assert "head is damaged" in file.problems[0] and seqs(tmp_path, file.name) == [0, 1, 2, 3, 4]
    [again] = fence_all(tmp_path, "run")
    assert again.name == file.name and again.episodes["e"].calls == 5


def test_a_torn_end_is_not_taken_for_something_late(tmp_path: Path) -> None:
    path = written(tmp_path)
    with path.open("ab") as late:
        late.write(b"torn")
        late.flush()
        file = fence(path, "run")
        assert late_bytes(tmp_path / file.name) == 0
        late.write(b"later")
    assert late_bytes(tmp_path / file.name) == 5


@pytest.mark.parametrize("flush", [True, False])
def test_a_new_file_is_in_its_folder_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flush: bool
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: flushed.append(str(Path(f"/proc/self/fd/{fd}").readlink())))
    Journal(tmp_path / "1-0.journal", "run", flush=flush).close()
    assert flushed == [str(tmp_path)] * flush


def test_a_full_disk_breaks_the_journal_and_says_so(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "1-0.journal", "run", flush=False)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, journal._fd)
    with pytest.raises(OSError, match="No space left"):
        journal.append(called("e", 0))
    assert journal.broken is not None and "1-0.journal" in str(journal.broken)
    assert remedy_of(journal.broken) == ": free some space, and resume the run with --resume"


WRITER = """
import sys
from pathlib import Path
from test_journal import called
from ray_gym.journal.journal import Journal
journal = Journal(Path(sys.argv[1]), "run", flush=False)
for seq in range(10**9):
    journal.append(called("e", seq, payload=b"x" * (seq * 37 % 5000)))
    print(seq, flush=True)
"""


def test_sigkill_in_mid_write_loses_nothing_that_append_returned(tmp_path: Path) -> None:
    path = tmp_path / "1-0.journal"
    environment = {**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{REPOSITORY}:{REPOSITORY / 'tests'}"}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, env=environment, text=True
    )
    assert writer.stdout is not None
    said = [int(writer.stdout.readline()) for _ in range(2000)]
    writer.send_signal(signal.SIGKILL)
    said += [int(line) for line in writer.stdout.read().splitlines()]
    writer.wait()
    file = fence(path, "run")
    assert seqs(tmp_path, file.name)[: len(said)] == said
