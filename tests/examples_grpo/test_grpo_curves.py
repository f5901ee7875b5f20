"""Checks the files that a training leaves: curves as a table and a picture, and annotations beside the run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

from examples.grpo.annotations import SCHEMA, numbers_in_episodes, write_annotations  # noqa: E402
from examples.grpo.curves import PANELS, draw, write_table  # noqa: E402

COLUMNS = [column for _, columns in PANELS for column in columns]


def history(steps: int) -> list[dict[str, Any]]:
    return [{"step": step, **dict.fromkeys(COLUMNS, step / 10)} for step in range(1, steps + 1)]


def test_the_table_has_a_row_for_each_step_and_is_replaced_whole(tmp_path: Path) -> None:
    write_table(history(2), tmp_path)
    path = write_table(history(3), tmp_path)
    assert pq.read_table(path).column("step").to_pylist() == [1, 2, 3]
    assert set(COLUMNS) <= set(pq.read_table(path).column_names)
    assert [file.name for file in tmp_path.iterdir()] == ["curves.parquet"]


def test_the_picture_is_a_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = draw(history(3), {0: 0.1, 3: 0.9}, tmp_path)
    assert path is not None and path.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_there_is_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert draw(history(3), {}, tmp_path) is None and not list(tmp_path.iterdir())


def test_annotations_of_a_step_that_is_done_again_replace_the_first(tmp_path: Path) -> None:
    def table(rows: int) -> pa.Table:
        ids = pa.array(["e"] * rows).dictionary_encode()
        columns = [ids, *([0] * rows for _ in SCHEMA.names[1:])]
        return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)

    write_annotations(table(3), str(tmp_path), 7)
    path = write_annotations(table(2), str(tmp_path), 7)
    assert path == tmp_path / "annotations" / "step-000007.parquet"
    assert pq.read_table(path).num_rows == 2 and len(list(path.parent.iterdir())) == 1


def test_samples_are_numbered_within_their_episode() -> None:
    assert numbers_in_episodes(["a", "a", "b", "a", "c"]) == [0, 1, 0, 2, 0]
