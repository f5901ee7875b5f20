"""Has verl's data set read exports: `read_exports.py WITHOUT_TOOLS WITH_TOOLS`, the second by `examples/verl_sft.py`.

Prints, as JSON, all of each sequence and the texts that each would train on.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from omegaconf import OmegaConf
from tool_template import tool_tokenizer
from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset

from examples.verl_sft import WithTools


def fine_tuning(kind: type[Any], file: str) -> list[dict[str, str]]:
    tokenizer = tool_tokenizer()
    data = kind(file, tokenizer, OmegaConf.create({"pad_mode": "no_padding", "max_length": 100_000}))
    rows = [data[number] for number in range(len(data))]
    return [
        {
            "text": tokenizer.decode(row["input_ids"]),
            "trained": tokenizer.decode(row["input_ids"][row["loss_mask"] == 1]),
        }
        for row in rows
    ]


if __name__ == "__main__":
    read = {
        "plain": fine_tuning(MultiTurnSFTDataset, sys.argv[1]),
        "with_tools": fine_tuning(WithTools, sys.argv[2]),
    }
    print(json.dumps(read))
