"""Writes runs in forms by their names, as the command does, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from small_runs import lines_of

from ray_gym.export.filters import EVERYTHING, Filters
from ray_gym.export.form import choose_form, read_options
from ray_gym.export.redaction import Redaction
from ray_gym.export.selection import Counts
from ray_gym.export.writing import export
from ray_gym.load import load


def written(
    run: Path,
    out: Path,
    name: str,
    given: dict[str, Any] | None = None,
    filters: Filters = EVERYTHING,
    redaction: Redaction | None = None,
) -> tuple[list[dict[str, Any]], Counts]:
    """Writes a run to a file, and returns its lines and the counts. JSON texts of Parquet are read as data."""
    _, form = choose_form(name, None)
    loaded = load(run)
    with form.open_form(read_options(name, form, given or {}), loaded) as opened:
        counts = export(loaded, opened, out, filters=filters, redaction=redaction, overwrite=True)
    return (lines_of(out) if form.schema is None else rows_in(out)), counts


def rows_in(file: Path) -> list[dict[str, Any]]:
    """Returns the rows of a Parquet file, with JSON texts as data."""
    table = pq.read_table(file)
    as_json = [field.name for field in table.schema if "arrow.json" in str(field.type)]
    return [row | {name: _data(row[name]) for name in as_json} for row in table.to_pylist()]


def _data(value: Any) -> Any:
    return [json.loads(text) for text in value] if isinstance(value, list) else json.loads(value)
