"""Run by a Python that has LLaMA-Factory: its converter and its template of Qwen read an exported file. Prints, as JSON,
the system prompt and tools of each line, and the texts of its turns.

python read_by_llama_factory.py FILE
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

from datasets import load_dataset
from llamafactory.data.converter import get_dataset_converter
from llamafactory.data.parser import DatasetAttr
from llamafactory.data.template import TEMPLATES
from tool_template import tool_tokenizer

DESCRIPTION = {
    "formatting": "sharegpt",
    "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
}
"""The entry of `dataset_info.json` that docs/export.md gives."""


def main(file: str) -> list[dict[str, Any]]:
    attributes = DatasetAttr("file", dataset_name=file)
    attributes.join(DESCRIPTION)
    convert = get_dataset_converter("sharegpt", attributes, SimpleNamespace(media_dir=None))
    tokenizer, template = tool_tokenizer(), TEMPLATES["qwen3"]
    found = []
    for line in load_dataset("json", data_files=file, split="train"):
        made = convert(line)
        messages = made["_prompt"] + made["_response"]
        pairs = template.encode_multiturn(tokenizer, messages, made["_system"], made["_tools"])
        texts = [tokenizer.decode(ids) for pair in pairs for ids in pair]
        found.append({"roles": [message["role"] for message in messages], "texts": texts})
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
