"""Finds the tool calls of episodes that were carried out, with their answers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

UNKNOWN_TOOL = "(unknown)"
"""Name of the tool of a result whose call is not in the record."""
UNREADABLE_CALL = "(unreadable)"
"""Name of the tool of a call that could not be read, which is recorded without a name."""


def calls_of(events_of_rows: pa.ListArray) -> Iterator[tuple[int, str, bool]]:
    """Yields the row, the tool, and whether the answer was an error, of each tool call that was carried out.

    `events_of_rows`: the column `events` of some rows. Ids are looked up among the calls before an answer, so that one
    may be used again.

    A call from outside, of a black-box agent, is an event of its own with its answer. The agent tells its model of it,
    which is recorded again and does not count.
    """
    flat = events_of_rows.flatten()
    counts = pc.fill_null(pc.list_value_length(pc.struct_field(flat, "tool_calls")), 0)
    is_answer = pc.is_in(pc.struct_field(flat, "kind"), value_set=pa.array(["tool_result", "tool_call"]))
    wanted = pc.or_(is_answer, pc.greater(counts, 0))
    rows = pc.list_parent_indices(events_of_rows).filter(wanted).to_pylist()
    events = flat.filter(wanted)
    kinds, participants, answered = (_values(events, name) for name in ("kind", "participant", "tool_call_id"))
    is_error = pc.is_valid(pc.struct_field(events, "error")).to_pylist()
    calls = pc.struct_field(events, "tool_calls").flatten()
    called = (name or UNREADABLE_CALL for name in _values(calls, "name"))
    made = iter(zip(_values(calls, "id"), called, strict=True))
    current, names, from_outside = -1, dict[str, str](), set[str]()
    events_of_calls = zip(rows, kinds, participants, answered, is_error, counts.filter(wanted).to_pylist(), strict=True)
    for row, kind, participant, call_id, error, count in events_of_calls:
        if row != current:
            current, names, from_outside = row, {}, set()
        of_event = list(islice(made, count))
        if kind == "tool_call":
            from_outside.add(participant)
            yield from ((row, name, error) for _, name in of_event)
        elif kind != "tool_result":
            names.update(of_event)
        elif participant not in from_outside:
            yield row, names.get(call_id, UNKNOWN_TOOL), error


def _values(structs: pa.StructArray, name: str) -> list[Any]:
    found: list[Any] = pc.struct_field(structs, name).to_pylist()
    return found
