"""Trains by OpenRLHF on groups that a ray_gym service plays. It needs GPUs: two venvs, two terminals.

In ray_gym's venv, on the rollout GPUs and a Ray cluster of its own (`ray start --head --port 6380`):

    ray-gym serve service.yaml                   # whose policy is the model below, of the service `small`

In OpenRLHF's venv, with ray_gym on PYTHONPATH, on the trainer's GPUs and another Ray cluster:

    RAY_GYM_URL=http://127.0.0.1:8000 RAY_GYM_APP=service-small-policy \
    RAY_GYM_COMMAND="env RAY_ADDRESS=127.0.0.1:6380 /path/to/ray_gym/.venv/bin/ray-gym" \
    python train.py --actor.model_name_or_path Qwen/Qwen3-0.6B --ckpt.output_dir /shared/openrlhf/policy \
        --data.prompt_dataset tasks.jsonl --data.input_key id --data.label_key task --data.max_len 8192 \
        --vllm.num_engines 0 --reward.remote_url ray_gym --algo.kl.init_coef 0 \
        --algo.advantage.estimator group_norm --algo.advantage.is_correction_level token \
        --rollout.n_samples_per_prompt 8 --rollout.batch_size 32 --rollout.micro_batch_size 4 \
        --rollout.temperature 1.0 --train.batch_size 256 --train.micro_batch_size 4 \
        --actor.num_nodes 1 --actor.num_gpus_per_node 2 --ds.zero_stage 2

Lines of `tasks.jsonl` are `{"id": "1", "task": "{...}"}`, where `task` is JSON text with the fields of the environment's
`task_schema`; an empty text has the environment generate one.
"""

from __future__ import annotations

import os
import runpy
import shlex

from ray_gym.trainers.openrlhf.trainer import Options, install
from ray_gym.trainers.service import WeightsCommand

if __name__ == "__main__":
    command = shlex.split(os.environ.get("RAY_GYM_COMMAND", "ray-gym"))
    install(Options(os.environ["RAY_GYM_URL"], WeightsCommand(os.environ["RAY_GYM_APP"], command), forks="longest"))
    runpy.run_module("openrlhf.cli.train_ppo_ray", run_name="__main__")
