"""Converts the options of a model to a Serve deployment."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ray_gym.deployments.chat.checkpoint import resolve_model
from ray_gym.deployments.vllm.installed import VLLM, vllm_missing
from ray_gym.deployments.vllm.layout import actor_options, env_vars, group_options
from ray_gym.deployments.vllm.options import ReplicaOptions
from ray_gym.errors import UserError
from ray_gym.hosting.application import DeploymentSpec, digest_options
from ray_gym.weights.holder import FirstWeights

SHARE_FACTOR = 1.25
"""Largest number of calls at a replica, as a multiple of its share of the episodes in flight; further calls go to
another replica. Measured, see docs/routing.md.
"""
USUAL_MAX_NUM_SEQS = 256
"""Number of sequences that an engine is assumed to have in a batch if the config does not set max_num_seqs."""


def deployment_spec(
    replica_class: type,
    options: ReplicaOptions,
    arguments: tuple[Any, ...],
    settings: dict[str, Any] | None = None,
    weights: FirstWeights | None = None,
    episodes: int | None = None,
) -> DeploymentSpec:
    """Returns the specification of a model's deployment in Serve.

    `arguments`: arguments of the constructor of `replica_class`. `settings`: further options of the Serve deployment.
    `weights`: first weights, if they can be updated; else None. `episodes`: largest number of episodes in flight, None
    if unknown.
    """
    return DeploymentSpec(
        replica_class=replica_class,
        arguments=arguments,
        count=options.replicas,
        autoscaling=_autoscaling(options),
        max_ongoing_requests=options.max_ongoing_requests or max_calls(options, episodes),
        actor_options={
            **actor_options(options),
            "runtime_env": {"env_vars": {**_quiet_env_vars(options), **env_vars(options), **options.env_vars}},
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
    """Returns a line for the user about vLLM or files of the model that this node lacks to load it; None if it lacks
    nothing. A model of a hub has to be in the node's cache, or the hub has to be reachable and have it.
    """
    if find_spec(VLLM) is None:
        return str(vllm_missing(options.gpus))
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
    except Exception as error:  # the hub's client raises errors of several HTTP libraries
        return f"{path} is not in this node's cache (HF_HOME), and the hub can't be reached: {type(error).__name__}"
    return None if found else f"{path} is not in this node's cache (HF_HOME), and the hub has no such model"


def max_calls(options: ReplicaOptions, episodes: int | None) -> int:
    """Returns the default of `max_ongoing_requests`, the largest number of calls at a replica: `SHARE_FACTOR` times the
    replica's share of the episodes, but at least the engine's batch. With one replica, with autoscaling, or if
    `episodes` is None, it is twice the batch. `episodes`: largest number of episodes in flight, None if unknown.
    """
    batch = int(options.engine_args.get("max_num_seqs") or USUAL_MAX_NUM_SEQS)
    if episodes is None or options.replicas == 1 or options.autoscaling is not None:
        return 2 * batch
    return max(batch, math.ceil(SHARE_FACTOR * episodes / options.replicas))


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


def _quiet_env_vars(options: ReplicaOptions) -> dict[str, str]:
    quiet = {"VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "WARNING", "TOKENIZERS_PARALLELISM": "false"}
    if options.model and Path(resolve_model(options.model)).exists():
        quiet["HF_HUB_OFFLINE"] = "1"
    return quiet
