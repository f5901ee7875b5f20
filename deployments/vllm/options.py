"""The keys of a `models.NAME` section whose engine is vllm, and those that it shares with other engines."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Count = Annotated[int, Field(ge=1)]

OWN_ENGINE_ARGS = {
    "model": "models.NAME.model",
    "tensor_parallel_size": "tensor_parallel",
    "reasoning_parser": "reasoning_parser",
    "tokenizer": None,
    "logprobs_mode": None,
    "logits_processors": None,
}
"""What `engine_args` must leave alone, since records would be wrong, and the option that is for it."""
OWN_TEMPLATE_KWARGS = frozenset({"tokenize", "tools", "chat_template", "conversation", "add_generation_prompt"})


class ChatOptions(BaseModel):
    """How the conversations of a model are written and read. What is left out is the model's own, or guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    chat_template: str | None = None
    """A Jinja file instead of the model's own template."""
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)
    """The template's own switches: enable_thinking, ..."""

    @field_validator("chat_template_kwargs")
    @classmethod
    def _leaves_rendering_alone(cls, value: dict[str, Any]) -> dict[str, Any]:
        taken = sorted(OWN_TEMPLATE_KWARGS & value.keys())
        if taken:
            raise ValueError(f"{', '.join(taken)}: set by the rendering itself")
        return value

    tool_parser: str | None = None
    """vLLM's name for how the model writes tool calls (hermes, llama3_json, ...), or plain: lines of NAME {arguments}.
    Default: guessed from the chat template and the model's name (`parsers`)."""
    reasoning_parser: str | None = None
    """vLLM's name for how the model marks its reasoning, or none: then it is part of the text. Default: guessed likewise."""


class ReplicaOptions(BaseModel):
    """What is loaded, how often, on what."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    model: str | None = None
    """A checkpoint folder, a model hub's name, or smollm2-135m-instruct (the small model of `make model`)."""
    app: str | None = None
    """Attach to this Serve application, already up, instead of loading anything."""
    replicas: Count = 1
    gpus: Annotated[float, Field(ge=0)] = 1
    """GPUs a replica needs for one tensor-parallel rank; 0 runs on CPU."""
    tensor_parallel: Count = 1
    cpus: Annotated[float, Field(ge=0)] = 0
    engine_args: dict[str, Any] = {}
    """vLLM's own (AsyncEngineArgs): max_model_len, dtype, max_num_seqs, ..."""
    label_selector: dict[str, str] = {}
    """Labels that the node of a replica has to have (`ray start --labels`), e.g. {pool: policy}. Default: any node with the GPUs."""
    env_vars: dict[str, str] = {}
    max_ongoing_requests: Count | None = None
    """A replica's; default: twice the engine's max_num_seqs, so that the engine always has a queue."""
    start_timeout_s: Annotated[float, Field(gt=0)] = 900

    @property
    def gpus_per_replica(self) -> float:
        return self.gpus * self.tensor_parallel

    @field_validator("engine_args")
    @classmethod
    def _leaves_records_right(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in sorted(OWN_ENGINE_ARGS.keys() & value.keys()):
            option = OWN_ENGINE_ARGS[name]
            raise ValueError(f"{name} is set by {option or 'the engine: exact samples rest on it'}; leave it out here")
        return value


class VllmOptions(ReplicaOptions, ChatOptions):
    affinity: Literal["session", "none"] = "session"
    """session: all calls of an episode reach one replica, whose prefix cache has its history."""
