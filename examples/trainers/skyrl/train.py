"""Trains by SkyRL on groups that a ray_gym service plays. It needs GPUs: two venvs, two terminals.

In ray_gym's venv, on the rollout GPUs and a Ray cluster of its own (`ray start --head --port 6380`):

    ray-gym serve service.yaml                   # whose policy is the model below, of the service `small`

In SkyRL's venv (`pip install skyrl[fsdp]==0.4.0`, Python 3.12), with ray_gym on PYTHONPATH, on the trainer's GPUs and
another Ray cluster:

    RAY_GYM_URL=http://127.0.0.1:8000 RAY_GYM_APP=service-small-policy RAY_GYM_WEIGHTS=/shared/skyrl/weights \
    RAY_GYM_COMMAND="env RAY_ADDRESS=127.0.0.1:6380 /path/to/ray_gym/.venv/bin/ray-gym" \
    python train.py data.train_data='["tasks.jsonl"]' trainer.policy.model.path=Qwen/Qwen3-0.6B trainer.strategy=fsdp \
        trainer.placement.colocate_all=false trainer.placement.policy_num_gpus_per_node=2 \
        trainer.train_batch_size=32 trainer.policy_mini_batch_size=32 trainer.epochs=10 \
        trainer.eval_interval=-1 trainer.eval_before_train=false trainer.logger=console \
        trainer.algorithm.advantage_estimator=grpo trainer.algorithm.policy_loss_type=rollout_is \
        trainer.algorithm.use_kl_loss=false generator.n_samples_per_prompt=8 \
        generator.step_wise_trajectories=true generator.sampling_params.temperature=1.0 \
        generator.inference_engine.enable_ray_prometheus_stats=false

Lines of `tasks.jsonl` are `{"prompt": [{"role": "user", "content": "-"}], "task": "{...}"}`: `task` is JSON text with
the fields of the environment's `task_schema`. Without this column the environment generates the tasks.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any

import ray
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.utils import validate_cfg
from skyrl.train.utils.utils import initialize_ray

from ray_gym.trainers.service import WeightsCommand
from ray_gym.trainers.skyrl.trainer import Options, check_config, train


@ray.remote(num_cpus=1)
def entry_point(cfg: Any, options: Options) -> None:
    """Trains in a task, away from the head node, as SkyRL's own entry point does."""
    train(cfg, options)


if __name__ == "__main__":
    cfg = SkyRLTrainConfig.from_cli_overrides(sys.argv[1:])
    check_config(cfg)
    validate_cfg(cfg)
    command = shlex.split(os.environ.get("RAY_GYM_COMMAND", "ray-gym"))
    options = Options(
        os.environ["RAY_GYM_URL"],
        WeightsCommand(os.environ["RAY_GYM_APP"], command),
        os.environ["RAY_GYM_WEIGHTS"],
        token=os.environ.get("RAY_GYM_TOKEN"),
    )
    initialize_ray(cfg)
    ray.get(entry_point.remote(cfg, options))
