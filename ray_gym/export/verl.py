"""Writes conversations as Parquet for verl's MultiTurnSFTDataset."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ray_gym.export.chats import ID_FIELDS, Chats, View
from ray_gym.export.parquet import JSON
from ray_gym.export.selection import Counts

WITH_TOOLS = "conversations with tools, which only the data set of examples/verl_sft.py gives to the template"
"""Note on lines."""

_TEXT = pa.string()
_FUNCTION = pa.struct([("name", _TEXT), ("arguments", _TEXT)])
_CALL = pa.struct([("id", _TEXT), ("type", _TEXT), ("function", _FUNCTION)])
_MESSAGE = pa.struct(
    [
        *((name, _TEXT) for name in ("role", "content", "reasoning_content", "tool_call_id")),
        ("tool_calls", pa.list_(_CALL)),
    ]
)


class VerlSft(Chats):
    """Writes the messages of conversations as structs, which have one type. So arguments of calls are text, and the
    tools, whose schemas have no one type, are JSON in a column of their own, `tools_json`.
    """

    to = "verl"
    arguments_as = "text"
    schema = pa.schema([("messages", pa.list_(_MESSAGE)), ("tools_json", JSON), *ID_FIELDS])

    def fields(self, view: View, counts: Counts) -> dict[str, Any]:
        """Returns the messages and the tools."""
        counts.notes[WITH_TOOLS] += bool(view.tools)
        return {"messages": view.messages, "tools_json": view.tools}
