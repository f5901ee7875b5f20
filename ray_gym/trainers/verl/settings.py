"""Reads the bridge's section of verl's config, and checks the rest of that config against what the bridge can do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from ray_gym.config.sections import Section
from ray_gym.errors import UserError
from ray_gym.trainers.compatibility import check_package
from ray_gym.trainers.verl.tested import TESTED

NAME = "ray_gym"
"""Name of the trainer, of its section below `trainer.v1`, of the checkpoint engine, and of the rollout."""
HF_MODEL = "hf_model"
"""Part of verl's checkpoints with which the stream's model can begin."""


class Settings(Section):
    """The section `trainer.v1.ray_gym` says which config the stream plays, and how old its tokens may be."""

    config: Path
    """Config of ray_gym's."""
    overrides: list[str] = Field(default_factory=list)
    """Overrides of that config."""
    model: str = "policy"
    """Name of the trained model in that config."""
    max_staleness: int | None = 1
    """Most versions by which a token may be older than the weights; 0 plays each batch with the weights that it trains."""
    max_open_groups: int | None = None
    """Most groups that are begun and not handed over; see `open_stream`."""
    wait_s: float | None = None
    """Seconds to wait for GPUs that the cluster does not have yet."""
    any_version: bool = False
    """True accepts versions of verl that the bridge was not tested with."""


def settings_of(config: Any) -> Settings:
    """Returns the bridge's settings of a resolved config of verl's, as plain dictionaries, once all of it is checked.

    Errors: UserError for another version of verl, and for parts of the config that don't fit.
    """
    section = config["trainer"]["v1"].get(NAME)
    try:
        settings = Settings.model_validate(section or {})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(["trainer.v1", NAME, *map(str, first["loc"])])
        raise UserError(f"{where}: {first['msg']}; give it as +{where}=...") from None
    check_package("verl", TESTED, any_version=settings.any_version)
    for check in (_check_hooks, _check_evaluation, _check_model, _check_rewards):
        check(config)
    return settings


def _check_hooks(config: Mapping[str, Any]) -> None:
    rollout = config["actor_rollout_ref"]["rollout"]
    if rollout["checkpoint_engine"]["backend"] != NAME:
        raise UserError(
            f"actor_rollout_ref.rollout.checkpoint_engine.backend: {rollout['checkpoint_engine']['backend']}, but "
            f"{NAME} takes the weights to the stream's model"
        )
    if rollout["nnodes"] < 1:
        raise UserError("actor_rollout_ref.rollout.nnodes: verl wants at least 1, though it starts no engine there")


def _check_evaluation(config: Mapping[str, Any]) -> None:
    trainer = config["trainer"]
    if trainer.get("val_before_train", True) or trainer["test_freq"] > 0:
        raise UserError(
            "validation: groups of a stream are for training; set trainer.val_before_train=false and "
            "trainer.test_freq=-1, and evaluate with ray_gym's stream.evaluate"
        )


def _check_model(config: Mapping[str, Any]) -> None:
    actor = config["actor_rollout_ref"]
    lora = actor["model"].get("lora") or {}
    rank = max(lora.get("rank") or 0, actor["model"].get("lora_rank") or 0)
    if (rank > 0 or actor["model"].get("lora_adapter_path")) and not lora.get("merge"):
        raise UserError(
            "actor_rollout_ref.model.lora: adapters are not pushed; set lora.merge=true, or train all weights"
        )
    saved = actor["actor"]["checkpoint"]["save_contents"]
    if config["trainer"]["save_freq"] > 0 and HF_MODEL not in saved:
        raise UserError(
            f"actor_rollout_ref.actor.checkpoint.save_contents: {list(saved)}; add {HF_MODEL}, with which the stream's "
            "model begins when the training is resumed"
        )


def _check_rewards(config: Mapping[str, Any]) -> None:
    if config["reward"]["reward_model"]["enable"]:
        raise UserError(
            "reward.reward_model.enable: rewards are those of the environment; use ray_gym's graders for more"
        )
