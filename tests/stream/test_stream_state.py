"""The state of a stream at a cursor, read from its files and journals alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lucky_questions import Ask
from test_stream_directory import config_of

from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Begun
from ray_gym.metrics.committing import RunMetrics
from ray_gym.metrics.recorder import Recorder
from ray_gym.record.schema import as_table, failed_row
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.stream.cursor import Cursor
from ray_gym.stream.directory import open_directory, read_state
from ray_gym.stream.group import Group, GroupReader, groups_of
from ray_gym.stream.source import GroupSource, number_of

UNSEEN = RunMetrics(Recorder(), "ask")
SOURCE = GroupSource(Ask(Ask.Options()), seed=0, repeats=2, epoch=8)


def sample(*versions: int, trainable: bool = True) -> dict[str, Any]:
    spans = [{"version": version, "start": at, "end": at + 1} for at, version in enumerate(versions)]
    return {"trainable": trainable, "token_ids": list(versions), "versions": spans}


def commit(directory: RunDirectory, *groups: int, status: str = "failed", **columns: Any) -> str:
    specs = [spec for number in groups for spec in SOURCE.make_group(number)]
    rows = [{**failed_row(spec, directory.name, "ask", "no"), "status": status, **columns} for spec in specs]
    name = f"part-1-0-{directory.order.last:05d}.parquet"
    return directory.commit(directory.storage.stage(name, as_table(rows)))


@pytest.fixture
def directory(tmp_path: Path) -> Any:
    made, _, _ = open_directory(config_of(tmp_path), "tasks", None)
    yield made
    made.close()


def test_groups_of_a_file(directory: RunDirectory) -> None:
    samples = [sample(7, 5), sample(3, trainable=False), sample(6)]
    file = commit(directory, 4, 2, status="completed", samples=samples)
    first, second = groups_of(directory.storage, file)
    assert (first.number, first.start, first.rows, first.completed, first.version) == (4, 0, 2, 2, 5)
    assert (second.number, second.start, second.commit, second.file) == (2, 2, 1, file)
    [failed] = groups_of(directory.storage, commit(directory, 5, samples=samples))
    assert failed.completed == 0 and failed.version is None, "nobody trains on what failed"
    [silent] = groups_of(directory.storage, commit(directory, 6, status="completed"))
    assert silent.completed == 2 and silent.version is None


def test_a_group_is_a_view_of_its_file(directory: RunDirectory) -> None:
    file = commit(directory, 4, 2, status="completed", samples=[{**sample(7, 5), "thread": "policy"}])
    files = GroupReader(directory.storage)
    groups = [files.read_group(found) for found in groups_of(directory.storage, file)]
    assert [group.episodes.num_rows for group in groups] == [2, 2]
    assert groups[1].episodes.column("group_id").to_pylist() == [groups[1].group_id] * 2
    assert groups[1].samples.column("token_ids").to_pylist() == [[7, 5], [7, 5]]

    def tokens_of(group: Group) -> int:
        """Returns the address in memory at which the tokens of a group's file begin."""
        address: int = group.samples.column("token_ids").chunk(0).values.buffers()[1].address
        return address

    assert tokens_of(groups[0]) == tokens_of(groups[1]), "nothing was copied"


def test_what_is_finished_what_is_half_played_and_what_is_neither(directory: RunDirectory) -> None:
    commit(directory, 0, 3)
    commit(directory, 1)
    commit(directory, 6, 7)
    journal = Journal(directory.journal / "1-0.journal", directory.name, flush=False)
    for number in (1, 2, 5):
        journal.append(Begun(SOURCE.make_group(number)[1].episode_id, 0, 0, 1.0))
    journal.append(Begun("4-of-somebody-else", 0, 0, 1.0))
    journal.close()
    cursor = Cursor(stream="s", commit=1, next=1, beyond=[3])
    state = read_state(directory, SOURCE, cursor, frozenset({5, 6}), UNSEEN)
    assert {number: [group.number for group in groups] for number, groups in state.files.items()} == {2: [1], 3: [7]}
    assert state.finished == {1, 7} and state.begun == {2}
    [group] = state.commits.dispatcher.pending
    assert [number_of(lease.spec.episode_id) for lease in group] == [2, 2]
    assert [lease.spec.attempt for lease in group] == [0, 1], "the one that was begun goes on, in a new attempt"
    assert [len(lease.adopted) for lease in group] == [0, 1]


def test_a_journal_that_nobody_needs_goes(directory: RunDirectory) -> None:
    commit(directory, 0)
    journal = Journal(directory.journal / "1-0.journal", directory.name, flush=False)
    journal.append(Begun(SOURCE.make_group(0)[0].episode_id, 0, 0, 1.0))
    journal.close()
    state = read_state(directory, SOURCE, Cursor(stream="s"), frozenset(), UNSEEN)
    assert not state.begun and not list(directory.journal.iterdir())
