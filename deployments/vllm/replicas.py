"""The replicas that a section of the config asks for, as a Serve deployment has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deployments.vllm.checkpoint import resolve_model
from deployments.vllm.options import ReplicaOptions
from ray_gym.application import Replicas, digest_options
from ray_gym.weights.holder import FirstWeights


def replicas(
    of: type,
    options: ReplicaOptions,
    arguments: tuple[Any, ...],
    more: dict[str, Any] | None = None,
    weights: FirstWeights | None = None,
) -> Replicas:
    """`of` is made with `arguments` in each; `more` are further options of the deployment."""
    return Replicas(
        of=of,
        arguments=arguments,
        count=options.replicas,
        max_ongoing_requests=options.max_ongoing_requests or 2 * int(options.engine_args.get("max_num_seqs", 256)),
        actor_options={
            "num_cpus": options.cpus,
            "num_gpus": options.gpus_per_replica,
            "runtime_env": {"env_vars": {**_quiet(options), **options.env_vars}},
        },
        start_timeout_s=options.start_timeout_s,
        what="vLLM",
        loading=f"{options.model} (vLLM)",
        digest=digest_options(*arguments),
        more=more or {},
        weights=weights,
    )


def _quiet(options: ReplicaOptions) -> dict[str, str]:
    quiet = {"VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "WARNING", "TOKENIZERS_PARALLELISM": "false"}
    if options.model and Path(resolve_model(options.model)).exists():
        quiet["HF_HUB_OFFLINE"] = "1"
    return quiet
