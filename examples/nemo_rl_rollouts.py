"""Reads files of `ray-gym export --form rollouts` inside NeMo RL, where ray_gym need not be installed.

Put this folder on NeMo RL's PYTHONPATH. `records` yields its records of prompt groups, for `record_to_train_batch`.
`RolloutDataset` is a dataset for its SFT (`data.train.dataset_name: nemo_rl_rollouts.RolloutDataset`): it trains on
exactly the tokens that were generated in good episodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from nemo_rl.data.datasets.raw_dataset import RawDataset
from nemo_rl.experience.interfaces import Completion, PromptGroupRecord

TASK_NAME = "ray_gym_rollouts"


def records(path: str | Path) -> Iterator[PromptGroupRecord]:
    """Yields a record of a prompt group for each line of an exported file."""
    with Path(path).open("rb") as file:
        for line in file:
            given = json.loads(line)
            completions = [
                Completion(**{**one, "message_log": tensors(one["message_log"])}) for one in given["completions"]
            ]
            yield PromptGroupRecord(**{**given, "prompt": tensors(given["prompt"]), "completions": completions})


def tensors(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns a message log as NeMo RL keeps it: `token_ids` int64 and `generation_logprobs` float32, both [n]."""
    types = {"token_ids": torch.int64, "generation_logprobs": torch.float32}
    return [
        {key: torch.tensor(value, dtype=types[key]) if key in types else value for key, value in message.items()}
        for message in log
    ]


class GoodCompletions:
    """Reads the completions with a reward of at least `min_reward`, as a sequence. Only the offsets of lines are in memory."""

    def __init__(self, path: str, min_reward: float) -> None:
        self._path = path
        self._places: list[tuple[int, int]] = []
        with Path(path).open("rb") as file:
            offset = 0
            for line in file:
                rewards = [one["reward"] for one in json.loads(line)["completions"]]
                self._places += [(offset, number) for number, reward in enumerate(rewards) if reward >= min_reward]
                offset += len(line)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> dict[str, Any]:
        offset, number = self._places[index]
        with Path(self._path).open("rb") as file:
            file.seek(offset)
            completion = json.loads(file.readline())["completions"][number]
        return {"message_log": completion["message_log"], "task_name": TASK_NAME}


class RolloutDataset(RawDataset):
    """Makes a dataset for NeMo RL's SFT of the good completions of a file. Config keys: `data_path`, `min_reward`."""

    def __init__(self, data_path: str, min_reward: float, **_: Any) -> None:
        self.task_name = TASK_NAME
        self.dataset = GoodCompletions(data_path, min_reward)
        self.val_dataset = None

    def set_processor(self) -> None:
        self.processor = as_datum


def as_datum(
    entry: dict[str, Any], spec: Any, tokenizer: Any, max_seq_length: int, idx: int, **_: Any
) -> dict[str, Any]:
    """Turns a completion into a datum of NeMo RL: the tokens as they are, without a template and without tokenising.

    A completion that is too long gets `loss_multiplier` 0, as with NeMo RL's `sft_processor`.
    """
    log = [
        {key: value for key, value in message.items() if key != "generation_logprobs"}
        for message in entry["message_log"]
    ]
    length = sum(len(message["token_ids"]) for message in log)
    fits = length < max_seq_length
    if not fits:
        log = [{**log[0], "token_ids": log[0]["token_ids"][:1]}]
    return {
        "message_log": tensors(log),
        "length": length if fits else 1,
        "extra_env_info": None,
        "loss_multiplier": float(fits),
        "idx": idx,
    }
