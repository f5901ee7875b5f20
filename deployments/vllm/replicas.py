"""Converts a section of the config to the replicas of a Serve deployment."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ray_gym.deployments.chat.checkpoint import resolve_model
from ray_gym.deployments.vllm.installed import VLLM, not_here
from ray_gym.deployments.vllm.layout import actor_options, env_vars, group_options
from ray_gym.deployments.vllm.options import ReplicaOptions
from ray_gym.errors import UserError
from ray_gym.hosting.application import DeploymentSpec, digest_options
from ray_gym.weights.holder import FirstWeights

BOUND = 1.25
"""Largest number of a replica's calls, as a multiple of its share of the episodes in flight: further calls go to
another. Measured, see docs/routing.md.
"""
USUAL_MAX_NUM_SEQS = 256


def deployment_spec(
    replica_class: type,
    options: ReplicaOptions,
    arguments: tuple[Any, ...],
    settings: dict[str, Any] | None = None,
    weights: FirstWeights | None = None,
    episodes: int | None = None,
) -> DeploymentSpec:
    """Returns the replicas of a deployment. `of` is made with `arguments` in each; `more` are further options of the
    deployment; `episodes` is the largest number in flight.
    """
    return DeploymentSpec(
        replica_class=replica_class,
        arguments=arguments,
        count=options.replicas,
        autoscaling=_autoscaling(options),
        max_ongoing_requests=options.max_ongoing_requests or calls_at_once(options, episodes),
        actor_options={
            **actor_options(options),
            "runtime_env": {"env_vars": {**_quiet(options), **env_vars(options), **options.env_vars}},
        },
        start_timeout_s=options.start_timeout_s,
        replica_name="vLLM",
        model_name=f"{options.model} (vLLM)",
        digest=digest_options(*arguments),
        batched=options.chosen_transport == "batched",
        settings={**(settings or {}), **group_options(options)},
        weights=weights,
    )


def missing_files(options: ReplicaOptions) -> str | None:
    """Returns what is missing for the model on this node, or None. A hub's model may be in the node's cache; else the
    hub has to be reachable.
    """
    if find_spec(VLLM) is None:
        return str(not_here(options.gpus))
    try:
        path = resolve_model(options.model or "")
    except UserError as error:
        return str(error)
    if Path(path).is_dir():
        return None
    from huggingface_hub import file_exists, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(path, "config.json"), str):
        return None
    try:
        found = file_exists(path, "config.json")
    except Exception as error:  # of every HTTP library that the hub's client has ever used
        return f"{path} is not in this node's cache (HF_HOME), and the hub can't be reached: {type(error).__name__}"
    return None if found else f"{path} is not in this node's cache (HF_HOME), and the hub has no such model"


def calls_at_once(options: ReplicaOptions, episodes: int | None) -> int:
    """Returns the calls that a replica takes at once, where the config doesn't say. They are never fewer than its
    engine can have in one batch.
    """
    batch = int(options.engine_args.get("max_num_seqs") or USUAL_MAX_NUM_SEQS)
    if episodes is None or options.replicas == 1 or options.autoscaling is not None:
        return 2 * batch
    return max(batch, math.ceil(BOUND * episodes / options.replicas))


def _autoscaling(options: ReplicaOptions) -> dict[str, Any] | None:
    """Returns Serve's autoscaling_config, or None without autoscaling."""
    wanted = options.autoscaling
    if wanted is None:
        return None
    return {
        "min_replicas": options.replicas,
        "initial_replicas": options.replicas,
        "max_replicas": wanted.max_replicas,
        "target_ongoing_requests": wanted.target_ongoing_requests,
        "upscale_delay_s": wanted.upscale_delay_s,
        "downscale_delay_s": wanted.downscale_delay_s,
    }


def _quiet(options: ReplicaOptions) -> dict[str, str]:
    quiet = {"VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "WARNING", "TOKENIZERS_PARALLELISM": "false"}
    if options.model and Path(resolve_model(options.model)).exists():
        quiet["HF_HUB_OFFLINE"] = "1"
    return quiet
