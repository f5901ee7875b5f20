"""Has OpenRLHF's data sets read exports: `read_exports.py SFT PREFERENCE`.

Prints, as JSON, all of each sequence and the texts that each would train on.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

from absent import pretend

pretend("vllm", "deepspeed", "flash_attn", "ring_flash_attn", "bitsandbytes")  # they need GPUs
pretend("wandb", "pylatexenc", "torchmetrics")  # they log, grade or measure

from openrlhf.datasets.reward_dataset import RewardDataset
from openrlhf.datasets.sft_dataset import SFTDataset
from openrlhf.datasets.utils import blending_datasets
from tool_template import tool_tokenizer

LONGEST = 100_000


def strategy(**keys: str) -> Any:
    """Returns what the data sets read of a strategy: arguments and where it prints."""
    data = SimpleNamespace(apply_chat_template=True, **keys)
    return SimpleNamespace(
        args=SimpleNamespace(data=data, use_ms=False), print=lambda *_: None, is_rank_0=lambda: False
    )


def fine_tuning(file: str) -> list[dict[str, str]]:
    tokenizer, of = tool_tokenizer(), strategy(input_key="messages")
    data = SFTDataset(blending_datasets(file, None, of), tokenizer, LONGEST, of, num_processors=1, multiturn=True)
    found = []
    for ids, _, mask in (data[number] for number in range(len(data))):
        trained = ids[0, 1:][mask[0, :-1] == 1]  # the mask is of the token that each one predicts
        found.append({"text": tokenizer.decode(ids[0]), "trained": tokenizer.decode(trained)})
    return found


def preferences(file: str) -> list[dict[str, str]]:
    tokenizer = tool_tokenizer()
    of = strategy(prompt_key="context", chosen_key="better", rejected_key="worse")
    given = blending_datasets(file, None, of)
    data = RewardDataset(given, tokenizer, LONGEST, of, is_dpo=True, num_processors=1)
    found = []
    for chosen, _, rejected, _, prompt in (data[number] for number in range(len(data))):
        texts = [tokenizer.decode(ids) for ids in (chosen[0, :prompt], chosen[0, prompt:], rejected[0, prompt:])]
        found.append(dict(zip(("prompt", "chosen", "rejected"), texts, strict=True)))
    return found


if __name__ == "__main__":
    print(json.dumps({"sft": fine_tuning(sys.argv[1]), "preference": preferences(sys.argv[2])}))
