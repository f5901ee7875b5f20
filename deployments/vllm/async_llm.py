"""vLLM's engine in this process, as a `TokenEngine`."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np

from deployments.vllm.hardware import cpu_dtype
from deployments.vllm.layout import parallel_args
from deployments.vllm.options import VllmOptions
from deployments.vllm.token_engine import Generation, GenerationRequest
from ray_gym.errors import EpisodeFailure, FailureKind, UserError, describe
from ray_gym.models.base import Logprobs, VersionSpan


class AsyncLLMEngine:
    def __init__(self, path: str, options: VllmOptions, reasoning_parser: str | None) -> None:
        """Loads the model. Errors: UserError for engine arguments that vLLM doesn't have."""
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        arguments: dict[str, Any] = {
            "model": path,
            **parallel_args(options),
            "logprobs_mode": "processed_logprobs",
            "disable_log_stats": True,
            "enable_log_requests": False,
            **({"dtype": cpu_dtype()} if options.gpus == 0 else {}),
            **(
                {"reasoning_parser": reasoning_parser} if reasoning_parser else {}
            ),  # a grammar begins after the reasoning
            **options.engine_args,
        }
        try:
            self._engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))
        except TypeError as error:
            raise UserError(f"engine_args: {error}") from error

    @property
    def client(self) -> Any:
        """vLLM's AsyncLLM."""
        return self._engine

    @property
    def max_model_len(self) -> int:
        length: int = self._engine.model_config.max_model_len
        return length

    async def generate(self, request: GenerationRequest) -> Generation:
        from vllm.inputs import TokensPrompt

        prompt = TokensPrompt(prompt_token_ids=request.prompt_ids)
        last = None
        try:
            async for output in self._engine.generate(prompt, _sampling_params(request), uuid.uuid4().hex):
                last = output
        except Exception as error:
            raise EpisodeFailure(FailureKind.INFRA, "vllm", describe(error)) from error
        if last is None or last.outputs[0].finish_reason not in ("stop", "length"):
            raise EpisodeFailure(FailureKind.INFRA, "vllm", "the engine aborted the request")
        generated = last.outputs[0]
        token_ids = np.array(generated.token_ids, dtype=np.int32)
        return Generation(
            prompt_ids=last.prompt_token_ids,
            token_ids=token_ids,
            logprobs=_sampled_logprobs(generated.logprobs, len(token_ids)),
            text=generated.text,
            truncated=generated.finish_reason == "length",
            versions=_version_spans(generated.weight_versions, len(token_ids)),
            cached_tokens=last.num_cached_tokens or 0,
        )

    async def check_health(self) -> None:
        await self._engine.check_health()

    def shutdown(self) -> None:
        self._engine.shutdown()


def _sampling_params(request: GenerationRequest) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    grammar = request.grammar
    return SamplingParams(
        **request.sampling_fields(),
        logprobs=0,
        flat_logprobs=True,
        output_kind=RequestOutputKind.FINAL_ONLY,
        structured_outputs=StructuredOutputsParams(**{grammar.kind: grammar.text}) if grammar else None,
    )


def _sampled_logprobs(flat: Any, count: int) -> Logprobs:
    """float32, shape (count,). The sampled token comes first at every position."""
    if flat is None:
        return np.zeros(count, dtype=np.float32)
    return np.array([flat.logprobs[start] for start in flat.start_indices], dtype=np.float32)


def _version_spans(spans: Any, count: int) -> tuple[VersionSpan, ...]:
    if not spans:
        return (VersionSpan(0, 0, count),) if count else ()
    return tuple(VersionSpan(_as_version(span.version), span.start, span.end) for span in spans)


def _as_version(version: str) -> int:
    return int(version) if version.isdigit() else 0
