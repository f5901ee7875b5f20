"""Checks files of rows: they hold what was written, and only columns whose values repeat have a dictionary."""

from __future__ import annotations

import io

import pyarrow.parquet as pq

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.record.schema import as_table, failed_row
from ray_gym.run.directory.parquet import write_rows

SAMPLE = {"thread": "policy", "token_ids": [5, 6, 7], "loss_mask": [0, 1, 1], "logprobs": [0.0, -0.5, -0.25]}


def written() -> pq.ParquetFile:
    row = failed_row(EpisodeSpec("e", "g", "t", 0, 0, "{}"), "run", "env", "x") | {"samples": [SAMPLE]}
    file = io.BytesIO()
    table = as_table([row])
    write_rows(table, file)
    assert pq.read_table(io.BytesIO(file.getvalue())).equals(table)
    return pq.ParquetFile(file)


def test_what_hardly_repeats_has_no_dictionary_and_all_else_has() -> None:
    rows = written().metadata.row_group(0)
    columns = [rows.column(number) for number in range(rows.num_columns)]
    plain = {column.path_in_schema for column in columns if "RLE_DICTIONARY" not in column.encodings}
    booleans = {column.path_in_schema for column in columns if column.physical_type == "BOOLEAN"}
    assert plain - booleans == {
        "events.list.element.started_at",
        "events.list.element.duration_s",
        "samples.list.element.logprobs.list.element",
        "timing.active_s",
        "timing.model_s",
        "timing.tool_s",
        "started_at",
        "ended_at",
    }
