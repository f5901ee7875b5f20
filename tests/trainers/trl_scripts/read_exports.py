"""Has TRL's trainers read exports: `read_exports.py FOLDER SFT TOKENS PREFERENCE`.

Prints, as JSON, the texts that each would train on and all of each sequence, and the loss of a step on the tokens.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from datasets import load_dataset
from handmade import tiny_model
from tool_template import tool_tokenizer
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer


def read(file: str) -> Any:
    return load_dataset("parquet", data_files=file, split="train")


def settings(folder: Path) -> dict[str, Any]:
    return {"output_dir": str(folder), "use_cpu": True, "report_to": "none", "max_length": None, "save_strategy": "no"}


def fine_tuning(folder: Path, file: str) -> list[dict[str, str]]:
    tokenizer = tool_tokenizer()
    config = SFTConfig(**settings(folder), assistant_only_loss=True)
    trainer = SFTTrainer(tiny_model(), config, train_dataset=read(file), processing_class=tokenizer)
    return [
        {
            "text": tokenizer.decode(row["input_ids"]),
            "trained": tokenizer.decode([label for label in row["labels"] if label != -100]),
        }
        for row in trainer.train_dataset
    ]


def tokens(folder: Path, file: str) -> dict[str, Any]:
    config = SFTConfig(**settings(folder), max_steps=1, per_device_train_batch_size=2, logging_steps=1)
    trainer = SFTTrainer(tiny_model(), config, train_dataset=read(file), processing_class=tool_tokenizer())
    rows = [{name: row[name] for name in ("input_ids", "labels")} for row in trainer.train_dataset]
    trainer.train()
    return {"rows": rows, "loss": trainer.state.log_history[0]["loss"]}


def preferences(folder: Path, file: str) -> list[dict[str, str]]:
    tokenizer = tool_tokenizer()
    config = DPOConfig(**settings(folder))
    trainer = DPOTrainer(tiny_model(), tiny_model(), config, train_dataset=read(file), processing_class=tokenizer)
    names = ("prompt", "chosen", "rejected")
    return [{name: tokenizer.decode(row[f"{name}_ids"]) for name in names} for row in trainer.train_dataset]


def main(folder: Path, sft: str, token_file: str, preference: str) -> None:
    read_back = {
        "sft": fine_tuning(folder, sft),
        "tokens": tokens(folder, token_file),
        "preference": preferences(folder, preference),
    }
    print(json.dumps(read_back))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
