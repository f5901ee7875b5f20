"""Gives verl's supervised fine-tuning the tools of exported conversations (`ray-gym export --to verl`).

In verl's config: `data.custom_cls.path=/path/to/verl_sft.py data.custom_cls.name=WithTools`. It needs nothing of
ray_gym. `docs/export.md` says why: structs of Parquet can't hold tools and arguments, whose keys differ, so that they
are JSON there, and verl's own data set does not read JSON.
"""

from __future__ import annotations

import json
from typing import Any

from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset, convert_nested_value_to_list_recursive


class WithTools(MultiTurnSFTDataset):  # type: ignore[misc]  # verl is not installed where types are checked
    """Reads `tools_json` as the tools, and the arguments of calls as objects, as chat templates want them."""

    def _read_files_and_process(self) -> None:
        super()._read_files_and_process()
        messages = [_messages(one) for one in self.dataframe[self.messages_key]]
        self.dataframe = self.dataframe.drop(columns=[self.messages_key]).astype(object)
        self.dataframe[self.messages_key] = messages
        self.messages = messages
        self.tools = [json.loads(text) or None for text in self.dataframe["tools_json"]]


def _messages(given: Any) -> list[dict[str, Any]]:
    """Returns messages without fields that are null, and with arguments as objects."""
    messages = [
        {name: value for name, value in message.items() if value is not None}
        for message in convert_nested_value_to_list_recursive(given)
    ]
    for call in (call for message in messages for call in message.get("tool_calls", ())):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return messages
