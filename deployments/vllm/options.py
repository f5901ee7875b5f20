"""Defines the options of `engine: vllm` in a config (`models.NAME`), and those that it shares with `vllm_reward`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ray_gym.deployments.chat.options import ChatOptions
from ray_gym.hosting.admission import AdmissionLimits
from ray_gym.hosting.affinity import Affinity, Transport
from ray_gym.models.numbers import Integer, Real
from ray_gym.weights.checkpoint import LARGEST_VERSION

Count = Annotated[Integer, Field(ge=1)]

OWN_ENGINE_ARGS = {
    "model": "models.NAME.model",
    "tensor_parallel_size": "tensor_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "reasoning_parser": "reasoning_parser",
    "tokenizer": None,
    "logprobs_mode": None,
    "logits_processors": None,
    "worker_extension_cls": None,
}
"""Engine arguments that `engine_args` must not set, as the records would be wrong. Each has the option that sets it
instead, or None if there is none.
"""


class Autoscaling(BaseModel):
    """Holds the options by which Serve adds and removes replicas with the number of calls in flight. There are never
    fewer than `replicas`, which are started at first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_replicas: Count
    """Largest number of replicas."""
    target_ongoing_requests: Annotated[Real, Field(gt=0)]
    """Calls in flight per replica that Serve aims at: with more of them it adds replicas, with fewer it removes some.
    """
    upscale_delay_s: Annotated[Real, Field(ge=0)] = 30
    """Seconds for which there have to be too many calls before Serve adds a replica."""
    downscale_delay_s: Annotated[Real, Field(ge=0)] = 600
    """Seconds for which there have to be too few calls before Serve removes a replica. A replica takes long to load,
    and its KV cache is lost with it.
    """


class Placement(BaseModel):
    """Holds the options of the placement group of a replica, by which Ray chooses the nodes of its ranks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    strategy: Literal["PACK", "STRICT_PACK", "SPREAD", "STRICT_SPREAD"] = "PACK"
    """Ray's strategy: bundles on as few nodes as possible (PACK), on one node (STRICT_PACK), on as many as possible
    (SPREAD), or each on another one (STRICT_SPREAD).
    """
    bundles: Annotated[list[dict[str, Annotated[Real, Field(ge=0)]]], Field(min_length=1)] | None = None
    """Resources of each bundle, e.g. {GPU: 1, CPU: 4}. By default there is one for each rank, with its GPU."""


class ReplicaOptions(BaseModel):
    """Holds the options of a deployment: which model its replicas load, how many there are, and on which hardware."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    model: str | None = None
    """Checkpoint folder, name at a model hub, or smollm2-135m-instruct (the small model of `make model`)."""
    app: str | None = None
    """Name of a Serve application that is up, to attach to instead of loading a model."""
    replicas: Count = 1
    """Number of replicas; with `autoscaling` the smallest number."""
    autoscaling: Autoscaling | None = None
    """Options to add and remove replicas with the number of calls; null keeps their number."""
    gpus: Annotated[Real, Field(ge=0)] = 1
    """GPUs of each rank of a replica; 0 runs the model on CPUs."""
    tensor_parallel: Count = 1
    """Number of ranks that share each layer. They are on one node, unless there is a pipeline or a placement."""
    pipeline_parallel: Count = 1
    """Number of stages of layers, each of `tensor_parallel` ranks. They may be on several nodes."""
    placement: Placement | None = None
    """Placement of a replica's ranks on GPUs. By default they are on one node, or with a pipeline on as few nodes as
    possible.
    """
    cpus: Annotated[Real, Field(ge=0)] = 0
    """CPUs that Ray reserves for a replica."""
    engine_args: dict[str, Any] = {}
    """Further arguments of vLLM's engine (AsyncEngineArgs): max_model_len, dtype, max_num_seqs, ..."""
    label_selector: dict[str, str] = {}
    """Labels that the node of a replica has to have (`ray start --labels`), e.g. {pool: policy}. By default any node
    with the resources will do.
    """
    env_vars: dict[str, str] = {}
    """Environment variables of a replica's process."""
    max_ongoing_requests: Count | None = None
    """Largest number of calls at a replica at a time; further calls go to the next replica. By default, with several
    replicas it is 1.25 times the replica's share of the episodes in flight, so that none gets many more calls than
    another; with one replica it is twice the engine's max_num_seqs, so that it always has a queue.
    """
    transport: Transport | None = None
    """batched: the calls of a worker to a replica are sent together, on a connection past Ray Serve. handle: each is
    sent alone, by Serve's handle. The default is batched, but handle with `autoscaling`, which counts only calls by
    handles, and always under RAY_USE_TLS.
    """
    start_timeout_s: Annotated[Real, Field(gt=0)] = 900
    """Seconds within which all replicas have to be up."""

    @model_validator(mode="after")
    def _check_autoscaling(self) -> Self:
        if self.autoscaling is not None and self.autoscaling.max_replicas < self.replicas:
            raise ValueError(
                f"autoscaling.max_replicas is {self.autoscaling.max_replicas}, less than replicas ({self.replicas})"
            )
        if self.autoscaling is not None and self.engine_args.get("weight_transfer_config"):
            raise ValueError(
                "autoscaling: replicas and trainer of engine_args.weight_transfer_config are one group, of fixed size; leave one out"
            )
        if self.autoscaling is not None and self.transport == "batched":
            raise ValueError(
                "transport: autoscaling counts calls as Serve sees them; leave it out, or set it to handle"
            )
        return self

    @property
    def chosen_transport(self) -> Transport:
        """Returns the transport of the config, or else its default: `batched`, or `handle` with autoscaling."""
        return self.transport or ("batched" if self.autoscaling is None else "handle")

    @property
    def ranks(self) -> int:
        """Returns the number of processes of a replica that hold a part of the model each."""
        return self.tensor_parallel * self.pipeline_parallel

    @property
    def is_grouped(self) -> bool:
        """Returns True if each replica has a placement group."""
        return self.gpus > 0 and (self.pipeline_parallel > 1 or self.placement is not None)

    @property
    def strategy(self) -> str:
        """Returns Ray's strategy of a replica's placement group; PACK if the config has no placement."""
        return self.placement.strategy if self.placement else "PACK"

    @property
    def bundles(self) -> list[dict[str, float]]:
        """Returns the resources of each bundle of a replica's placement group: those of the config, or else the GPU of
        each rank.
        """
        given = self.placement.bundles if self.placement else None
        return given or [{"GPU": self.gpus}] * self.ranks

    @property
    def gpus_per_replica(self) -> float:
        """Returns the number of GPUs of a replica: those of all bundles if it has a placement group, else those of all
        its ranks.
        """
        return (
            sum(bundle.get("GPU", 0) for bundle in self.bundles)
            if self.is_grouped
            else self.gpus * self.tensor_parallel
        )

    @model_validator(mode="after")
    def _check_placement(self) -> ReplicaOptions:
        if self.placement is not None and self.gpus == 0:
            raise ValueError("placement: is for ranks on GPUs, and gpus is 0; leave it out")
        if not self.is_grouped:
            return self
        if self.gpus > 1:
            raise ValueError(f"gpus: {self.gpus:g}, but a rank of a pipeline or placement has 1 GPU, or a part of one")
        given = [bundle.get("GPU", 0) for bundle in self.bundles]
        if any(count not in (0, self.gpus) for count in given) or given.count(self.gpus) < self.ranks:
            raise ValueError(
                f"placement.bundles: {self.ranks} of them need GPU: {self.gpus:g}, one for each of tensor_parallel x "
                f"pipeline_parallel ranks, and others no GPU; they have {', '.join(f'{count:g}' for count in given)}"
            )
        return self

    @field_validator("engine_args")
    @classmethod
    def _check_engine_args(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in sorted(OWN_ENGINE_ARGS.keys() & value.keys()):
            option = OWN_ENGINE_ARGS[name]
            raise ValueError(f"{name} is set by {option or 'the engine: exact samples rest on it'}; leave it out here")
        return value


class VllmOptions(ReplicaOptions, ChatOptions):
    """Holds the options of `engine: vllm` in a config."""

    affinity: Affinity = "session"
    """session: all calls of an episode go to one replica, whose prefix cache has the history. group: so do the calls of
    all episodes of a task, so that their common prompt is computed once. none: a call goes to any replica.
    """
    admission: AdmissionLimits | None = None
    """Limits of a replica's load, over which new episodes wait; null means that they begin at once, up to
    fanout.concurrency.
    """
    engine_metrics: bool = True
    """True adds vLLM's own metrics to Ray's, as ray_vllm_*."""
    weights_version: Annotated[Integer, Field(ge=0, le=LARGEST_VERSION)] = 0
    """Version of the weights that are loaded first, recorded with their tokens. Updates have higher versions."""

    @model_validator(mode="after")
    def _check_seed(self) -> Self:
        if "seed" in self.engine_args and (self.replicas > 1 or self.autoscaling is not None):
            raise ValueError(
                "engine_args.seed: all replicas would draw the same tokens; leave it out, as each has its own seed "
                "(participants.NAME.sampling.seed gives each call one)"
            )
        return self

    @property
    def max_loras(self) -> int | None:
        """Returns how many LoRA adapters may generate at a time: 0 if the engine takes none; None if an application is
        attached to, which has options of its own.
        """
        if self.app is not None:
            return None
        most = self.engine_args.get("max_loras", 1)
        return most if self.engine_args.get("enable_lora") and isinstance(most, int) else 0
