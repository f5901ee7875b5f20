"""Trains by AReaL's `PPOTrainer` on groups that a ray_gym service plays. It needs GPUs: two venvs, three terminals.

In ray_gym's venv, on the rollout GPUs and a Ray cluster of its own (`ray start --head --port 6380`); `train.yaml` beside
this file has the trainer's side:

    ray-gym serve service.yaml          # whose policy is the model in train.yaml, of the service `small`
    python -m ray_gym.trainers.areal.weight_server service-small-policy --root /shared/areal

In AReaL's venv, with ray_gym on PYTHONPATH, on the trainer's GPUs:

    AREAL_SPMD_MODE=1 AREAL_LLM_SERVER_ADDRS=127.0.0.1:8100 RAY_GYM_URL=http://127.0.0.1:8000 \
        torchrun --nproc_per_node 2 train.py --config train.yaml
"""

from __future__ import annotations

import os
import sys

from areal.api.cli_args import GRPOConfig, load_expr_config
from areal.trainer.rl_trainer import PPOTrainer
from datasets import Dataset
from transformers import AutoTokenizer

from ray_gym.errors import UserError
from ray_gym.trainers.areal.trajectory import check_config
from ray_gym.trainers.areal.workflow import GroupWorkflow

REPEATS = 8
"""Number of episodes of a group."""
TASKS = 4096
"""Number of tasks of an epoch; the environment generates them."""


def main(arguments: list[str]) -> None:
    """Trains as the config says."""
    config, _ = load_expr_config(arguments, GRPOConfig)
    check_config(config)
    workflow = GroupWorkflow(
        os.environ["RAY_GYM_URL"],
        REPEATS,
        config.actor.temperature,
        AutoTokenizer.from_pretrained(config.tokenizer_path),
        longest=config.actor.mb_spec.max_tokens_per_mb,
    )
    tasks = Dataset.from_list([{"seed": number} for number in range(TASKS)])
    with PPOTrainer(config, train_dataset=tasks) as trainer:
        trainer.train(workflow=workflow)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        sys.exit(str(error))
