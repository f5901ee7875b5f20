"""Takes the agent's answers through NeMo RL's own postprocessing, and its batches of prompt groups where it can be had.

answers.py CHECKOUT
"""

from __future__ import annotations

import json
import sys
import typing
from types import SimpleNamespace
from typing import Any

import typing_extensions
from absent import pretend

typing.TypedDict = typing_extensions.TypedDict  # NeMo RL wants Python 3.13; before 3.12 pydantic refuses the other one
pretend("vllm", "megatron", "nemo_automodel", "pynvml", "transfer_queue", "modelopt")  # they need GPUs
pretend(
    "wandb", "mlflow", "swanlab", "tensorboard", "matplotlib", "math_verify", "num2words", "nltk", "blobfile"
)  # they log or grade
pretend("decord", "qwen_vl_utils", "fastokens", "debugpy")  # they see, hear, or are not asked for

sys.path.insert(0, sys.argv[1])

from handmade import handmade_groups, tiny_model, tiny_tokenizer
from nemo_rl.environments.nemo_gym import NemoGym

from ray_gym.trainers.nemo_rl.answers import answer_of
from ray_gym.trainers.one_row import OneRow
from ray_gym.trainers.rows import rows_of


def main() -> None:
    """Prints one JSON object."""
    postprocess = NemoGym.__ray_metadata__.modified_class._postprocess_nemo_gym_to_nemo_rl_result
    gym, tokenizer = SimpleNamespace(cfg={}), tiny_tokenizer()

    def processed(answer: dict[str, Any]) -> dict[str, Any]:
        given = json.loads(json.dumps(answer))  # as it comes over HTTP
        made: dict[str, Any] = postprocess(gym, {"responses_create_params": {"input": []}}, given, tokenizer)
        return made

    groups = handmade_groups(tiny_model(), version=3)
    found: list[dict[str, Any]] = []
    for group in groups:
        for row in OneRow("longest").of(group)[0]:
            if row is None:
                continue
            made = processed(answer_of(row, {"input": []}))
            log = made["message_log"]
            mask = [int(message["role"] == "assistant") for message in log for _ in message["token_ids"]]
            logprobs = [
                logprob
                for message in log
                for logprob in (
                    message["generation_logprobs"].tolist()
                    if "generation_logprobs" in message
                    else [0.0] * len(message["token_ids"])
                )
            ]
            found.append(
                {
                    "read": [[int(token) for message in log for token in message["token_ids"]], mask, logprobs],
                    "own": [row.token_ids.tolist(), row.loss_mask.tolist(), row.logprobs.tolist()],
                    "reward": [made["full_result"]["reward"], row.reward],
                    "prompt": [int(token) for message in made["input_message_log"] for token in message["token_ids"]],
                    "begins": row.token_ids[: row.begins_at].tolist(),
                }
            )
    first, fork = rows_of(groups[0])[1:3]
    both = answer_of(first, {"input": []})
    both["response"]["output"] += answer_of(fork, {"input": []})["response"]["output"]
    try:
        processed(both)
        said = ""
    except AssertionError as error:
        said = str(error)
    print(json.dumps({"answers": found, "with_a_fork": said[:40]}))


if __name__ == "__main__":
    main()
