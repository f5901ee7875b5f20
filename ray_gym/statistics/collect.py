"""Collects the few columns that statistics need from the rows of a run, batch by batch.

A row's messages and tokens are never read. What stays is some 200 bytes an episode and 10 bytes a tool call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ray_gym.statistics.calls import calls_of

TEXTS = ("env_id", "task_id", "group_id", "status", "stop_reason")
NUMBERS = ("repeat", "try", "attempt", "turns", "reward", "cost")
COUNTS = ("prompt_tokens", "generated_tokens", "model_calls", "tool_calls", "tool_errors")
_EVENT = "events.list.element"
_OF_CALLS = (
    "kind",
    "participant",
    "tool_calls.list.element.id",
    "tool_calls.list.element.name",
    "tool_call_id",
    "error",
)
_OF_ANSWERS = ("thread", "content.list.element.text")
COLUMNS = (
    *TEXTS,
    *NUMBERS,
    "failure.kind",
    *(f"usage.{name}" for name in COUNTS),
    *(f"{_EVENT}.{name}" for name in _OF_CALLS),
)
"""Columns of the record that are read, as paths of Parquet columns."""
ANSWER_COLUMNS = tuple(f"{_EVENT}.{name}" for name in _OF_ANSWERS)
"""Further columns that are read to extract answers."""
VERSION_COLUMNS = tuple(f"samples.list.element.{name}" for name in ("participant", "versions.list.element.version"))
"""Further columns that are read for the versions of the policy's weights."""
SLICED_BY = (*TEXTS, "repeat", "try", "attempt", "turns", "failure_kind", "version")
"""Columns of `Collected.episodes` by which episodes can be sliced."""
Extract = Callable[[str], str | None]
"""Function that returns the answer in a text; None if there is none (`ray_gym.graders.extract` has some)."""
POLICY = "policy"


@dataclass(frozen=True)
class Collected:
    """Holds what statistics need of the episodes of a run."""

    episodes: pa.Table
    """A row for each episode: `TEXTS`, `NUMBERS`, `failure_kind`, `COUNTS`, `answer` (null without any), and
    `version`: the lowest version of the weights that generated words of the policy (null if it is not known)."""
    calls: pa.Table
    """A row for each tool call that was answered: `episode` (int32, row of `episodes`), `tool`, `is_error`."""

    def __len__(self) -> int:
        """Returns the number of episodes."""
        return int(self.episodes.num_rows)

    def texts(self, column: str) -> NDArray[np.object_]:
        """Returns a column of texts: object [n], None for null."""
        return np.asarray(self.episodes.column(column).to_pylist(), dtype=np.object_)

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Returns a column of numbers: float64 [n], NaN for null."""
        return np.asarray(pc.cast(self.episodes.column(column), pa.float64()).to_numpy(), dtype=np.float64)

    def tasks(self) -> NDArray[np.int64]:
        """Returns a number for the task of each episode: int64 [n]. Tasks of two environments are never the same."""
        return self._numbered("env_id", "task_id")

    def groups(self) -> NDArray[np.int64]:
        """Returns a number for the group of each episode: int64 [n]."""
        return self._numbered("env_id", "group_id" if self.episodes.column("group_id").null_count == 0 else "task_id")

    def task_keys(self) -> list[tuple[str, str]]:
        """Returns the environment and the task of each episode, which are the same in another run of this task."""
        return list(zip(self.texts("env_id").tolist(), self.texts("task_id").tolist(), strict=True))

    def where(self, chosen: NDArray[np.bool_]) -> Collected:
        """Returns the episodes that are chosen (bool [n]), and their calls."""
        places = np.cumsum(chosen) - 1
        of = self.calls.column("episode").to_numpy()
        kept = self.calls.filter(pa.array(chosen[of]))
        moved = pa.array(places[of[chosen[of]]], pa.int32())
        return Collected(self.episodes.filter(pa.array(chosen)), kept.set_column(0, "episode", moved))

    def _numbered(self, *columns: str) -> NDArray[np.int64]:
        texts = [pc.fill_null(self.episodes.column(name), "") for name in columns]
        joined = pc.binary_join_element_wise(*texts, "\x00").combine_chunks()
        return np.asarray(pc.dictionary_encode(joined).indices.to_numpy(), dtype=np.int64)


_FLAT = pa.schema(
    [
        *((name, pa.string()) for name in TEXTS),
        *((name, pa.float64() if name in ("reward", "cost") else pa.int64()) for name in NUMBERS),
        ("failure_kind", pa.string()),
        *((name, pa.int64()) for name in COUNTS),
        ("answer", pa.string()),
        ("version", pa.int64()),
    ]
)
_CALLS = pa.schema([("episode", pa.int32()), ("tool", pa.string()), ("is_error", pa.bool_())])


def collect(batches: Iterable[pa.RecordBatch | pa.Table], extract: Extract | None = None) -> Collected:
    """Collects what statistics need from rows of the record, of which `COLUMNS` are enough.

    `extract`: finds the answer in the last message of the policy that has words; then `ANSWER_COLUMNS` are needed too.
    Versions of the weights are collected where the rows have `VERSION_COLUMNS`.
    """
    episodes: list[pa.Table] = [_FLAT.empty_table()]
    calls: list[pa.Table] = [_CALLS.empty_table()]
    seen = 0
    for given in batches:
        for batch in given.to_batches() if isinstance(given, pa.Table) else [given]:
            nothing: list[str | None] = [None] * batch.num_rows
            episodes.append(_flat(batch, _answers(batch, extract) if extract is not None else nothing))
            rows = [(seen + row, tool, is_error) for row, tool, is_error in calls_of(batch.column("events"))]
            columns = [[row[place] for row in rows] for place in range(len(_CALLS))]
            calls.append(pa.table(dict(zip(_CALLS.names, columns, strict=True)), schema=_CALLS))
            seen += batch.num_rows
    return Collected(pa.concat_tables(episodes), pa.concat_tables(calls))


def _flat(batch: pa.RecordBatch, answers: list[str | None]) -> pa.Table:
    usage = batch.column("usage")
    columns = {name: batch.column(name) for name in (*TEXTS, *NUMBERS)}
    columns["failure_kind"] = pc.struct_field(batch.column("failure"), "kind")
    columns |= {name: pc.struct_field(usage, name) for name in COUNTS}
    columns["answer"] = pa.array(answers, pa.string())
    columns["version"] = pa.array(_versions(batch), pa.int64())
    return pa.table([pc.cast(columns[field.name], field.type) for field in _FLAT], schema=_FLAT)


def _versions(batch: pa.RecordBatch) -> list[int | None]:
    """Returns the lowest version of the weights that generated words of each episode's policy; None without any."""
    if "samples" not in batch.schema.names:
        return [None] * batch.num_rows
    return [min(_own_versions(samples or ()), default=None) for samples in batch.column("samples").to_pylist()]


def _own_versions(samples: Iterable[dict[str, Any]]) -> Iterator[int]:
    return (span["version"] for one in samples if one["participant"] == POLICY for span in one["versions"] or ())


def _answers(batch: pa.RecordBatch, extract: Extract) -> list[str | None]:
    """Returns the answer in the last message of each episode's policy that has words."""
    flat = batch.column("events").flatten()
    wanted = pc.and_(
        pc.equal(pc.struct_field(flat, "kind"), "message"), pc.equal(pc.struct_field(flat, "thread"), "policy")
    )
    rows = pc.list_parent_indices(batch.column("events")).filter(wanted).to_pylist()
    last: list[str | None] = [None] * batch.num_rows
    for row, content in zip(rows, _field(flat.filter(wanted), "content"), strict=True):
        text = "".join(part["text"] for part in content or ())
        if text.strip():
            last[row] = text
    return [extract(text) if text is not None else None for text in last]


def _field(structs: pa.StructArray, name: str) -> list[Any]:
    return list(pc.struct_field(structs, name).to_pylist())
