"""Puts a service in the place of OpenRLHF's vLLM engines: it plays, and it gets the weights.

    install(Options(url="http://127.0.0.1:8000", weights=WeightsCommand("service-small-policy")))
    runpy.run_module("openrlhf.cli.train_ppo_ray", run_name="__main__")

OpenRLHF drives. Its trainer has the policy saved after each step, as at the end of a training, and the service's model
loads it before the next batch is played: the batches are on-policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from openrlhf.trainer import ppo_trainer

from ray_gym.client import Client
from ray_gym.trainers.compatibility import check_package
from ray_gym.trainers.kept_checkpoint import serve_copy
from ray_gym.trainers.one_row import ForkChoice
from ray_gym.trainers.openrlhf import TESTED
from ray_gym.trainers.openrlhf.samples import GroupSamples
from ray_gym.trainers.service import WeightsCommand, check_served_tokenizer


@dataclass(frozen=True, slots=True)
class Options:
    """Holds what the bridge has to know beside OpenRLHF's arguments."""

    url: str
    """Address of the service."""
    weights: WeightsCommand
    """Command that changes the weights of the service's model. It runs in the trainer's actor, so it has to be there."""
    token: str | None = None
    """Token of the service; None means RAY_GYM_TOKEN."""
    environment: str | None = None
    """Name of an environment of the service; None means its config's own."""
    model: str = "policy"
    """Name of the policy's model in the service's config, whose tokenizer is compared with the trainer's."""
    forks: ForkChoice = "refuse"
    """Sample of an episode with forks that is trained on."""


def install(options: Options, *, any_version: bool = False) -> None:
    """Has `openrlhf.cli.train_ppo_ray` train with the bridge. Errors: UserError for a version of OpenRLHF that the
    bridge was not tested with, unless `any_version`.
    """
    check_package("openrlhf", TESTED, any_version=any_version)
    ppo_trainer.PPOTrainer = ray.remote(trainer_class(options))


def trainer_class(options: Options) -> Any:
    """Returns a subclass of OpenRLHF's synchronous trainer, not yet as a Ray actor."""
    base: Any = ppo_trainer.PPOTrainer.__ray_metadata__.modified_class

    class GroupTrainer(base):  # type: ignore[misc]  # mypy does not follow imports of openrlhf
        """Trains on groups of a service, and has its model serve each step's weights."""

        def __init__(self, pretrain: str, strategy: Any, *groups: Any, **generate_kwargs: Any) -> None:
            super().__init__(pretrain, strategy, *groups, **generate_kwargs)
            with Client(options.url, options.token) as client:
                check_served_tokenizer(client, options.model, self.tokenizer)
            given = {name: getattr(options, name) for name in ("url", "token", "environment", "forks")}
            self.samples_generator = GroupSamples(
                strategy, self.prompts_dataloader, self.eval_dataloader, self.tokenizer, **given
            )

        def train_step(self, rollout_samples: list[Any], global_step: int) -> tuple[dict[str, Any], int]:
            status, step = super().train_step(rollout_samples, global_step)
            self.broadcast_to_vllm()
            counts = self.samples_generator.counts
            status.update({f"ray_gym/{name}_total": float(count) for name, count in counts.items()})
            return status, step

        def broadcast_to_vllm(self) -> None:
            """Saves the policy, and has the service's model serve it as the version after the one that it serves."""
            ray.get(self.actor_model_group.async_run_method(method_name="save_model"))
            saved = Path(self.args.ckpt.output_dir).absolute()
            serve_copy(
                saved, saved.with_name(f"{saved.name}-served"), options.weights.served() + 1, options.weights.update
            )

    return GroupTrainer
