"""Run by a Python that has nemo_rl: its own functions read exported files. Prints, as JSON, what a trainer would be given.

python read_by_nemo_rl.py FOLDER_OF_EXAMPLES FOLDER_OF_TOKENIZER SFT PREFERENCE ROLLOUTS MIN_REWARD
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

sys.path.insert(0, sys.argv[1])

from nemo_rl.data.collate_fn import preference_collate_fn, rl_collate_fn
from nemo_rl.data.datasets import AllTaskProcessedDataset, load_preference_dataset, load_response_dataset
from nemo_rl.data.llm_message_utils import add_loss_mask_to_message_log, batched_message_log_to_flat_message
from nemo_rl.data.processors import preference_preprocessor
from nemo_rl.experience.payload import record_to_train_batch
from nemo_rl_rollouts import records
from transformers import AutoTokenizer

LONGEST = 100_000


def fine_tuning(config: dict[str, Any], tokenizer: Any) -> list[dict[str, list[int]]]:
    """Sets the data up as examples/run_sft.py does, and masks it as nemo_rl/algorithms/sft.py does."""
    data = load_response_dataset(config)
    processor = partial(data.processor, add_bos=True, add_eos=True, add_generation_prompt=False)
    processors = {data.task_name: (data.task_spec, processor)}
    dataset = AllTaskProcessedDataset(data.dataset, tokenizer, None, processors, max_seq_length=LONGEST)
    batch = rl_collate_fn([dataset[number] for number in range(len(dataset))])
    add_loss_mask_to_message_log(batch["message_log"], roles_to_train_on=["assistant"])
    flat, lengths = batched_message_log_to_flat_message(batch["message_log"], pad_value_dict={"token_ids": 0})
    return rows({"token_ids": flat["token_ids"], "loss_mask": flat["token_loss_mask"]}, lengths)


def preferences(path: str, tokenizer: Any) -> list[dict[str, list[int]]]:
    """Returns pairs as DPO collates them: chosen and rejected in turn."""
    data = load_preference_dataset({"dataset_name": "PreferenceDataset", "data_path": path})
    given = [preference_preprocessor(one, data.task_spec, tokenizer, LONGEST, n) for n, one in enumerate(data.dataset)]
    batch = preference_collate_fn(given, tokenizer, 1, True)
    return rows({"token_ids": batch["input_ids"], "loss_mask": batch["token_mask"]}, batch["input_lengths"])


def training(path: str) -> list[dict[str, Any]]:
    """Returns the rows of the batches that NeMo RL's GRPO makes of groups of rollouts."""
    found = []
    for record in records(path):
        batch = record_to_train_batch(record, pad_value_dict={"token_ids": 0})
        names = {"token_ids": "input_ids", "loss_mask": "token_mask", "logprobs": "generation_logprobs"}
        tensors = {name: batch[column] for name, column in names.items()}
        prompts = batch["prompt_ids_for_adv"].tolist()
        for number, row in enumerate(rows(tensors, batch["input_lengths"])):
            reward = batch["total_reward"][number].item()
            found.append({**row, "reward": reward, "prompt": prompts[number], "group": record.metadata["group_id"]})
    return found


def rows(tensors: dict[str, Any], lengths: Any) -> list[dict[str, list[int]]]:
    """Returns the rows of tensors, without padding."""
    return [
        {name: tensor[number, :length].tolist() for name, tensor in tensors.items()}
        for number, length in enumerate(lengths.tolist())
    ]


def main(tokenizer_folder: str, sft: str, preference: str, rollouts: str, min_reward: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    chats = {"dataset_name": "openai_format", "data_path": sft, "use_preserving_dataset": True}
    exact = {"dataset_name": "nemo_rl_rollouts.RolloutDataset", "data_path": rollouts, "min_reward": float(min_reward)}
    read = {
        "sft": fine_tuning({**chats, "processor": "sft_processor"}, tokenizer),
        "exact_sft": fine_tuning(exact, tokenizer),
        "preference": preferences(preference, tokenizer),
        "rollouts": training(rollouts),
    }
    print(json.dumps(read))


if __name__ == "__main__":
    main(*sys.argv[2:])
