"""Puts a service in the place of SkyRL's inference engines: it plays, and it gets the weights.

    train(cfg, Options(url="http://127.0.0.1:8000", weights=WeightsCommand("service-small-policy"), folder="/shared/weights"))

SkyRL drives. After each step, and before the first, its trainer has the policy saved, and the service's model loads it
before the next batch is played: the batches are on-policy.
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skyrl.train.entrypoints.main_base import BasePPOExp
from skyrl.train.trainer import RayPPOTrainer

from ray_gym.client import Client
from ray_gym.errors import UserError
from ray_gym.paths import home_expanded
from ray_gym.trainers.compatibility import check_package
from ray_gym.trainers.service import WeightsCommand, check_served_tokenizer
from ray_gym.trainers.skyrl import TESTED
from ray_gym.trainers.skyrl.generator import GroupGenerator

ESTIMATORS = ("grpo", "rloo", "maxrl")
"""Values of `trainer.algorithm.advantage_estimator` that SkyRL has for step-wise rows: one advantage a trajectory."""


@dataclass(frozen=True, slots=True)
class Options:
    """Holds what the bridge has to know beside SkyRL's config."""

    url: str
    """Address of the service."""
    weights: WeightsCommand
    """Command that changes the weights of the service's model. It runs in the trainer's Ray task, so it has to be
    there."""
    folder: str | Path
    """Folder for the weights, which the trainer's workers and all nodes of the service see."""
    token: str | None = None
    """Token of the service; None means RAY_GYM_TOKEN."""
    environment: str | None = None
    """Name of an environment of the service; None means its config's own."""
    model: str = "policy"
    """Name of the policy's model in the service's config, whose tokenizer is compared with the trainer's."""
    longest: int | None = None
    """Most tokens of a sequence that the trainer takes; longer ones are left out whole. None means
    `trainer.algorithm.max_seq_len`."""


def train(cfg: Any, options: Options, *, any_version: bool = False) -> None:
    """Trains by SkyRL's config on the service's groups. Call it in a Ray task, as SkyRL's own entry point does.

    Errors: UserError for a version of SkyRL that the bridge was not tested with, unless `any_version`, for a config
    that does not fit, and for another tokenizer than the service's model has; those of the service.
    """
    check_package("skyrl", TESTED, any_version=any_version)
    check_config(cfg)
    GroupExp(cfg, options).run()


def check_config(cfg: Any) -> None:
    """Checks SkyRL's config. Errors: UserError, which names the first key that does not fit."""
    generator, algorithm = cfg.generator, cfg.trainer.algorithm
    wrong = [
        (
            not generator.step_wise_trajectories,
            "generator.step_wise_trajectories: false, with which an episode is one sequence, and none may be missing; "
            "set it to true, so that forks are whole and failed episodes are left out",
        ),
        (
            generator.merge_stepwise_output,
            "generator.merge_stepwise_output: true; a row is a whole sequence already: set it to false",
        ),
        (
            generator.n_samples_per_prompt < 2,
            f"generator.n_samples_per_prompt: {generator.n_samples_per_prompt}; an episode that is alone in its group "
            "has the advantage 0, so nothing would be learned; give at least 2",
        ),
        (
            algorithm.advantage_estimator not in ESTIMATORS,
            f"trainer.algorithm.advantage_estimator: {algorithm.advantage_estimator}, which has no baseline of a group; "
            f"give one of {', '.join(ESTIMATORS)}",
        ),
        (
            algorithm.dynamic_sampling.type is not None,
            f"trainer.algorithm.dynamic_sampling.type: {algorithm.dynamic_sampling.type}; the bridge gives all prompts "
            "of a batch their rows: leave it out",
        ),
        (
            cfg.trainer.placement.colocate_all,
            "trainer.placement.colocate_all: true, but the service has its own machines or GPUs; set it to false",
        ),
        (
            cfg.trainer.fully_async.enabled,
            "trainer.fully_async.enabled: true; the bridge is for the synchronous trainer: set it to false",
        ),
        (
            generator.inference_engine.enable_ray_prometheus_stats,
            "generator.inference_engine.enable_ray_prometheus_stats: true, but there is no engine of SkyRL's to ask; set "
            "it to false",
        ),
    ]
    for is_wrong, said in wrong:
        if is_wrong:
            raise UserError(said)


class GroupExp(BasePPOExp):  # type: ignore[misc]  # mypy does not follow imports of skyrl
    """Sets up SkyRL's training without its inference engines."""

    def __init__(self, cfg: Any, options: Options) -> None:
        super().__init__(cfg)
        self._options = options
        with Client(options.url, options.token) as client:
            check_served_tokenizer(client, options.model, self.tokenizer)

    def get_inference_client(self) -> None:
        """Returns None: the service has the engines."""

    def get_generator(self, cfg: Any, tokenizer: Any, inference_engine_client: None) -> GroupGenerator:
        """Returns the generator that asks the service."""
        options = self._options
        return GroupGenerator(
            Client(options.url, options.token),
            temperature=cfg.generator.sampling_params.temperature,
            longest=options.longest or cfg.trainer.algorithm.max_seq_len,
            filler=tokenizer.eos_token_id,
            seed=cfg.trainer.seed,
            environment=options.environment,
        )

    def get_trainer(self, **parts: Any) -> GroupTrainer:
        """Returns the trainer that has the service's model serve its weights."""
        return GroupTrainer(**parts, options=self._options)


class GroupTrainer(RayPPOTrainer):  # type: ignore[misc]  # likewise
    """Trains as SkyRL does, and publishes the weights where SkyRL would send them to its own engines."""

    def __init__(self, *, options: Options, **parts: Any) -> None:
        super().__init__(**parts)
        self._options = options

    def init_weight_sync_state(self) -> None:
        """Has the moment at which SkyRL sends its weights publish them instead. SkyRL calls it before that moment."""
        self.dispatch.save_weights_for_sampler = self._publish

    async def _publish(self) -> None:
        await asyncio.to_thread(self._publish_now)

    def _publish_now(self) -> None:
        """Saves the policy, has the service's model serve it as the version after the one that it serves, and removes
        the weights before: a replica that starts later loads the newest. Errors: those of the command.
        """
        folder = home_expanded(self._options.folder, "folder").absolute()
        version = self._options.weights.served() + 1
        saved = folder / str(version)
        shutil.rmtree(saved, ignore_errors=True)
        self.dispatch.save_hf_model("policy", str(saved), self.tokenizer)
        self._options.weights.update(version, saved)
        self.generator.served_version = version
        for other in folder.iterdir():
            if other != saved and other.name.isdigit():
                shutil.rmtree(other, ignore_errors=True)
