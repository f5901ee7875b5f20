"""Reads what the bridge needs from slime's arguments, and checks those that it depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ray_gym.errors import UserError

ROLLOUTS = "ray_gym.trainers.slime.rollouts"
ESTIMATORS = ("grpo", "gspo", "cispo")
"""Values of `--advantage-estimator` that take a sample's reward, as it was post-processed, for its advantage."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Holds the bridge's own settings, which slime reads from `--custom-config-path` as `ray_gym_` and their name."""

    url: str
    """Address of the service."""
    app: str
    """Serve application of the service's model: `service-NAME-MODEL`, of the service's name and the model's in its config."""
    model: str = "policy"
    """Name of that model in the config, whose tokenizer is compared with the trainer's."""
    filler: int = 0
    """Token id of samples that train nothing."""
    command: str = "ray-gym"
    """The command `ray-gym` of the service's own venv, with what starts it."""
    token: str | None = None
    """Token of the service; None means RAY_GYM_TOKEN."""
    environment: str | None = None
    """Name of an environment of the service; None means its config's own."""
    eval_source: str | None = None
    """Name of the source of tasks for evaluations in the service's config."""
    any_version: bool = False
    """True accepts a slime of another commit than those that the bridge was tested with."""

    @staticmethod
    def of(args: Any) -> Settings:
        """Reads them from slime's arguments. Errors: UserError for one that is missing or unknown."""
        given = {key.removeprefix("ray_gym_"): value for key, value in vars(args).items() if key.startswith("ray_gym_")}
        unknown = sorted(given.keys() - Settings.__slots__)
        missing = [name for name in ("url", "app") if not given.get(name)]
        if unknown or missing:
            said = [f"ray_gym_{name} is missing" for name in missing] + [
                f"ray_gym_{name} is unknown" for name in unknown
            ]
            raise UserError(
                f"--custom-config-path: {', '.join(said)}; examples/trainers/slime/ray_gym.yaml has them all"
            )
        return Settings(**given)


def check_args(args: Any) -> None:
    """Checks slime's arguments. Errors: UserError, which names the first that does not fit."""
    wrong = [
        (
            args.n_samples_per_prompt < 2,
            f"--n-samples-per-prompt: {args.n_samples_per_prompt}; an episode that is alone in its group has the "
            "advantage 0, so nothing would be learned; give at least 2",
        ),
        (
            args.advantage_estimator not in ESTIMATORS,
            f"--advantage-estimator: {args.advantage_estimator}, which would not take the bridge's advantages; give one "
            f"of {', '.join(ESTIMATORS)}",
        ),
        (
            args.custom_reward_post_process_path != f"{ROLLOUTS}.post_process_rewards",
            f"--custom-reward-post-process-path: {args.custom_reward_post_process_path}; give "
            f"{ROLLOUTS}.post_process_rewards: slime's own takes unequal groups for one",
        ),
        (
            args.rollout_top_p != 1.0,
            f"--rollout-top-p: {args.rollout_top_p}, with which slime asks for SGLang's sets of tokens; give 1",
        ),
        (
            args.rollout_num_gpus != 0,
            f"--rollout-num-gpus: {args.rollout_num_gpus}, but ray_gym's service generates; give 0",
        ),
        (
            not args.save_hf or "{rollout_id}" not in args.save_hf or args.save_interval != 1,
            f"--save-hf {args.save_hf} --save-interval {args.save_interval}: the service's model gets its weights from "
            "there after each step; give a folder with {rollout_id} in it, and 1",
        ),
    ]
    for is_wrong, said in wrong:
        if is_wrong:
            raise UserError(said)
