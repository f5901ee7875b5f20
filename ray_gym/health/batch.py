"""Gives the events and samples of a batch of episodes as flat arrays, with the row that each belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_EVENT, _SAMPLE = "events.list.element", "samples.list.element"
COLUMNS = [
    "episode_id",
    "task_id",
    "group_id",
    "env_id",
    "status",
    "stop_reason",
    "reward",
    "rewards",
    "failure",
    "task",
    "usage.generated_tokens",
    *(f"{_EVENT}.{name}" for name in ("kind", "role", "participant", "reasoning", "error", "reward", "tool_call_id")),
    f"{_EVENT}.content.list.element.text",
    *(f"{_EVENT}.tool_calls.list.element.{name}" for name in ("id", "name", "arguments")),
    *(f"{_SAMPLE}.{name}" for name in ("participant", "trainable", "fork_reason")),
    f"{_SAMPLE}.token_ids.list.element",
    f"{_SAMPLE}.loss_mask.list.element",
    f"{_SAMPLE}.logprobs.list.element",
    *(f"{_SAMPLE}.spans.list.element.{name}" for name in ("start", "end", "generated", "kind")),
]
"""Columns of a file that the checks read, as `RowsFile` takes them."""
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Batch:
    """Holds some episodes. Arrays of events and of samples are flat, in order: `event_rows` and `sample_rows` say which
    episode each belongs to.
    """

    table: pa.Table

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def texts(self, name: str) -> list[Any]:
        """Returns the values of a column."""
        found: list[Any] = self.table.column(name).to_pylist()
        return found

    @cached_property
    def completed(self) -> Mask:
        """Returns whether each episode is completed."""
        return flags(pc.equal(self.table.column("status"), "completed"))

    @cached_property
    def events(self) -> Any:
        """Returns the column of events."""
        return self.table.column("events").combine_chunks()

    @cached_property
    def event_rows(self) -> Rows:
        return numbers(pc.list_parent_indices(self.events))

    def event(self, name: str) -> Any:
        """Returns a field of all events."""
        return pc.struct_field(self.events.flatten(), name)

    @cached_property
    def said(self) -> Any:
        """Returns the text of all events; an empty one where there is none."""
        content = self.event("content")
        parts = pc.fill_null(pc.list_value_length(content), 0)
        texts, owners = pc.struct_field(content.flatten(), "text"), numbers(pc.list_parent_indices(content))
        if len(parts) and pc.max(parts).as_py() > 1:
            joined = [""] * len(parts)
            for owner, text in zip(owners.tolist(), texts.to_pylist(), strict=True):
                joined[owner] += text or ""
            return pa.array(joined, pa.string())
        places = np.full(len(parts), -1, dtype=np.int64)
        places[owners] = np.arange(len(owners))
        taken = pc.take(texts, pa.array(places, mask=places < 0))
        return pc.fill_null(taken, "")

    @cached_property
    def messages(self) -> Mask:
        """Returns whether each event is a message that a participant's model made."""
        return flags(pc.equal(self.event("kind"), "message"))

    @cached_property
    def _samples(self) -> Any:
        return self.table.column("samples").combine_chunks()

    @cached_property
    def sample_rows(self) -> Rows:
        return numbers(pc.list_parent_indices(self._samples))

    def sample(self, name: str) -> Any:
        """Returns a field of all samples."""
        return pc.struct_field(self._samples.flatten(), name)

    @cached_property
    def trained(self) -> Mask:
        """Returns whether each sample is trainable."""
        return flags(self.sample("trainable"))


def flags(column: Any) -> Mask:
    """Returns a column of booleans as an array, in which null is False."""
    filled = pc.fill_null(column, False)
    return np.asarray(
        filled.to_numpy(zero_copy_only=False) if isinstance(filled, pa.Array) else filled.to_numpy(), bool
    )


def numbers(column: Any) -> Rows:
    """Returns a column of whole numbers without nulls as an array."""
    found = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    return np.asarray(found, dtype=np.int64)
