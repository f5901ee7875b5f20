"""Defines the keys of a `models.NAME` section whose engine is vllm, and those that it shares with other engines."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ray_gym.deployments.chat.options import ChatOptions
from ray_gym.hosting.admission import AdmissionLimits
from ray_gym.hosting.affinity import Affinity, Transport
from ray_gym.weights.checkpoint import LARGEST_VERSION

Count = Annotated[int, Field(ge=1)]

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
"""Names that `engine_args` must not set, since records would be wrong, each with the option that sets it instead, or
None.
"""


class Autoscaling(BaseModel):
    """Serve adds and removes replicas with the calls in flight: never fewer than `replicas`, which are there from the
    start.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_replicas: Count
    target_ongoing_requests: Annotated[float, Field(gt=0)]
    """Calls in flight a replica: with more there should be more replicas."""
    upscale_delay_s: Annotated[float, Field(ge=0)] = 30
    downscale_delay_s: Annotated[float, Field(ge=0)] = 600
    """Seconds that a need must last before a replica goes (`upscale_delay_s`: before one comes): a model takes its time
    to load, and its cache goes with it.
    """


class Placement(BaseModel):
    """Ray's placement groups decide by these where the ranks of a replica may be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    strategy: Literal["PACK", "STRICT_PACK", "SPREAD", "STRICT_SPREAD"] = "PACK"
    bundles: Annotated[list[dict[str, Annotated[float, Field(ge=0)]]], Field(min_length=1)] | None = None
    """Resources of each, e.g. {GPU: 1, CPU: 4}. Default: one a rank, with its GPU."""


class ReplicaOptions(BaseModel):
    """A replica's options say which model is loaded, in how many replicas, and on which hardware."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    model: str | None = None
    """A checkpoint folder, a model hub's name, or smollm2-135m-instruct (the small model of `make model`)."""
    app: str | None = None
    """Attach to this Serve application, already up, instead of loading anything."""
    replicas: Count = 1
    autoscaling: Autoscaling | None = None
    """Have more replicas where there are calls for them; null: always as many."""
    gpus: Annotated[float, Field(ge=0)] = 1
    """GPUs a replica needs for one tensor-parallel rank; 0 runs on CPU."""
    tensor_parallel: Count = 1
    """Ranks that share each layer; on one node, unless there is a pipeline or a placement."""
    pipeline_parallel: Count = 1
    """Stages of layers, each of `tensor_parallel` ranks, which may be on several nodes."""
    placement: Placement | None = None
    """Placement of a replica's ranks, on GPUs. Default: one node, or with a pipeline as few nodes as can be."""
    cpus: Annotated[float, Field(ge=0)] = 0
    engine_args: dict[str, Any] = {}
    """vLLM's own (AsyncEngineArgs): max_model_len, dtype, max_num_seqs, ..."""
    label_selector: dict[str, str] = {}
    """Labels that the node of a replica has to have (`ray start --labels`), e.g. {pool: policy}. Default: any node with the GPUs."""
    env_vars: dict[str, str] = {}
    max_ongoing_requests: Count | None = None
    """A replica's; what comes on top goes to the next one. Default: with several replicas, 1.25 times its share of the episodes in
    flight, so that none gets many more than another; with one, twice the engine's max_num_seqs, so that it always has a queue."""
    transport: Transport | None = None
    """batched: the calls of a worker to a replica go together, on a connection past Ray Serve. handle: each goes alone, by Serve's handle.
    Default: batched, but handle with `autoscaling`, which counts what Serve sees. Under RAY_USE_TLS always handle."""
    start_timeout_s: Annotated[float, Field(gt=0)] = 900

    @model_validator(mode="after")
    def _grows(self) -> Self:
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
        return self.transport or ("batched" if self.autoscaling is None else "handle")

    @property
    def ranks(self) -> int:
        """Returns the number of a replica's processes that hold a part of the model each."""
        return self.tensor_parallel * self.pipeline_parallel

    @property
    def is_grouped(self) -> bool:
        """Says whether the ranks of a replica lie in a placement group."""
        return self.gpus > 0 and (self.pipeline_parallel > 1 or self.placement is not None)

    @property
    def strategy(self) -> str:
        return self.placement.strategy if self.placement else "PACK"

    @property
    def bundles(self) -> list[dict[str, float]]:
        """Returns the resources of each bundle of a replica's placement group."""
        given = self.placement.bundles if self.placement else None
        return given or [{"GPU": self.gpus}] * self.ranks

    @property
    def gpus_per_replica(self) -> float:
        return (
            sum(bundle.get("GPU", 0) for bundle in self.bundles)
            if self.is_grouped
            else self.gpus * self.tensor_parallel
        )

    @model_validator(mode="after")
    def _fits_its_group(self) -> ReplicaOptions:
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
    def _leaves_records_right(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in sorted(OWN_ENGINE_ARGS.keys() & value.keys()):
            option = OWN_ENGINE_ARGS[name]
            raise ValueError(f"{name} is set by {option or 'the engine: exact samples rest on it'}; leave it out here")
        return value


class VllmOptions(ReplicaOptions, ChatOptions):
    affinity: Affinity = "session"
    """session: all calls of an episode reach one replica, whose prefix cache has its history. group: so do those of all episodes of a
    task, whose first prompt is then computed once. none: every call goes to any replica."""
    admission: AdmissionLimits | None = None
    """Have new episodes wait while a replica is over one of these limits; null: all begin at once, up to fanout.concurrency."""
    engine_metrics: bool = True
    """Give what vLLM measures of itself to Ray's metrics, as ray_vllm_*."""
    weights_version: Annotated[int, Field(ge=0, le=LARGEST_VERSION)] = 0
    """Version that marks the tokens of the weights that are loaded first. Updates count on from here."""
