"""The index has a flat row for each episode that was committed, and names what can't be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("duckdb")
from shown_runs import damage, episode, event, sample, write

from ray_gym.record.schema import SCHEMA, VERSION_KEY, as_table
from ray_gym.run.directory.location import storage_at
from ray_gym.viewer.episode_page import NoSuchEpisode, episode_of, text_of
from ray_gym.viewer.run_index import TABLE, RunIndex


def index_of(run: Path) -> RunIndex:
    made = RunIndex(storage_at(str(run)))
    made.refresh()
    return made


def rows(index: RunIndex, columns: str) -> list[tuple[Any, ...]]:
    with index.query() as connection:
        return connection.execute(f"SELECT {columns} FROM {TABLE} ORDER BY file, place").fetchall()


def test_a_row_has_what_an_episode_is_and_counts_of_its_samples(tmp_path: Path) -> None:
    fork = sample(version=5, fork_reason="branched", trainable=False)
    write(tmp_path, episode(0, samples=[sample(), fork]), episode(1, None), episode(2, 0.5, samples=[]))
    index = index_of(tmp_path)
    assert rows(index, "episode_id, reward, status, samples, trainable, forks, version") == [
        ("e0", 1.0, "completed", 2, 1, 1, 3),
        ("e1", None, "failed", 0, 0, 0, None),
        ("e2", 0.5, "completed", 0, 0, 0, None),
    ]
    failed = rows(index, "failure_kind, failure_where, failure, tool_errors, active_s")[1]
    assert failed == ("environment", "tools.py:3", "no such shelf 1", 1, 1.0)
    assert index.damage == [] and index.place_of("e2") == ("part-00000001-a.parquet", 2)


def test_pandas_is_not_imported_for_it(tmp_path: Path) -> None:
    """pyarrow would import it by itself, and the first page would be late."""
    write(tmp_path, episode(0, samples=[sample()]), episode(1, samples=[]))
    script = f"""
import sys
from ray_gym.viewer.places import Places
from ray_gym.viewer.queries import Selection, page_of
index = Places.of([{str(tmp_path)!r}]).named()[0].index
index.refresh()
assert index.is_read and len(page_of(index, Selection(), 0, 9).rows) == 2
print("pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_long_texts_are_cut_and_missing_structs_are_null(tmp_path: Path) -> None:
    write(tmp_path, episode(0, stop_text="ü" * 10_000, usage=None, timing=None, samples=None, events=None))
    index = index_of(tmp_path)
    assert rows(index, "length(stop_text), turns, tool_calls, samples") == [(300, 1, None, 0)]
    assert episode_of(index, "e0")["stop_text"] == "ü" * 10_000


def test_new_files_are_added_and_files_that_went_are_forgotten(tmp_path: Path) -> None:
    first = write(tmp_path, episode(0), episode(1))
    index = index_of(tmp_path)
    write(tmp_path, episode(2), number=2)
    index.refresh()
    assert [row[0] for row in rows(index, "episode_id")] == ["e0", "e1", "e2"]
    first.unlink()
    index.refresh()
    assert [row[0] for row in rows(index, "episode_id")] == ["e2"] and index.place_of("e0") is None
    write(tmp_path, episode(3), number=3)
    index.refresh()
    assert [row[0] for row in rows(index, "episode_id")] == ["e2", "e3"]
    assert episode_of(index, "e3")["reward"] == 1.0


def test_a_damaged_row_group_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    file = write(tmp_path, *(episode(number) for number in range(6)), rows_a_group=2)
    damage(file, 1)
    write(tmp_path, episode(6), number=2)
    index = index_of(tmp_path)
    assert [row[0] for row in rows(index, "episode_id")] == ["e0", "e1", "e4", "e5", "e6"]
    [found] = index.damage
    assert found.file == file.name and found.rows == 2 and found.reason
    assert episode_of(index, "e5")["events"][1]["content"][0]["text"] == "On shelf 5."
    with pytest.raises(NoSuchEpisode):
        episode_of(index, "e2")


def test_a_half_written_file_and_a_later_version_are_named(tmp_path: Path) -> None:
    half = write(tmp_path, episode(0), number=1)
    half.write_bytes(half.read_bytes()[:-200])
    table = as_table([episode(1)])
    later = SCHEMA.with_metadata({VERSION_KEY: "99"})
    pq.write_table(pa.table(table.columns, schema=later), tmp_path / "episodes" / "part-00000002-a.parquet")
    write(tmp_path, episode(2), number=3)
    index = index_of(tmp_path)
    assert [row[0] for row in rows(index, "episode_id")] == ["e2"]
    first, second = index.damage
    assert "damaged" in first.reason and first.rows is None
    assert "version 99" in second.reason


def test_a_long_text_is_cut_on_the_page_and_whole_when_asked_for(tmp_path: Path) -> None:
    write(tmp_path, episode(0, events=[event(0, "message", "x" * 10_000_000, reasoning="y" * 30_000)]))
    index = index_of(tmp_path)
    [shown] = episode_of(index, "e0")["events"]
    assert len(shown["content"][0]["text"]) == 20_000 and shown["content"][0]["cut"] == 10_000_000
    assert len(text_of(index, "e0", 0)["content"][0]["text"]) == 10_000_000
    with pytest.raises(NoSuchEpisode, match="no event 5"):
        text_of(index, "e0", 5)
