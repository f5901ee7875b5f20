"""vLLM's engine in this process, as a `TokenEngine`."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np

from deployments.vllm.hardware import cpu_dtype
from deployments.vllm.options import VllmOptions
from deployments.vllm.said import NOTHING, Said, may_go_on, rest
from deployments.vllm.token_engine import Generation, GenerationRequest
from deployments.vllm.weights import EngineWeights
from ray_gym.errors import EpisodeFailure, FailureKind, UserError, describe
from ray_gym.models.base import Logprobs, VersionSpan


class AsyncLLMEngine:
    def __init__(self, path: str, options: VllmOptions, reasoning_parser: str | None, app: str = "") -> None:
        """Loads the model, for the Serve application `app`. Errors: UserError for engine arguments that vLLM doesn't have."""
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        arguments: dict[str, Any] = {
            "model": path,
            "tensor_parallel_size": options.tensor_parallel,
            "logprobs_mode": "processed_logprobs",
            "worker_extension_cls": "deployments.vllm.worker.ReloadingWorker",
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
        self.weights = EngineWeights(self._engine, path, options.weights_version, app)

    @property
    def client(self) -> Any:
        """vLLM's AsyncLLM."""
        return self._engine

    @property
    def max_model_len(self) -> int:
        length: int = self._engine.model_config.max_model_len
        return length

    async def generate(self, request: GenerationRequest) -> Generation:
        """Where an update of the weights cuts it, it goes on under the new ones, or begins anew."""
        weights, said = self.weights, NOTHING
        while True:
            await weights.opened()
            adapter, cuts, loads = weights.adapter, weights.cuts, weights.loads
            asked = rest(request, said)
            output = await self._answer(asked, adapter)
            generated = output.outputs[0]
            if adapter is not None and loads != weights.loads:  # what is below the adapter has changed
                continue
            more = _said(output, weights.spans(generated.weight_versions, len(generated.token_ids), adapter))
            if generated.finish_reason in ("stop", "length"):
                return self._generation(asked, output, said, said.then(more))
            if cuts == weights.cuts:
                raise EpisodeFailure(FailureKind.INFRA, "vllm", "the engine aborted the request")
            said = said.then(more) if weights.cuts_go_on and may_go_on(request) else NOTHING

    async def _answer(self, request: GenerationRequest, adapter: Any) -> Any:
        """vLLM's, once it is over. Errors: EpisodeFailure."""
        from vllm.inputs import TokensPrompt

        prompt, request_id = TokensPrompt(prompt_token_ids=request.prompt_ids), uuid.uuid4().hex
        last = None
        self.weights.under_way.add(request_id)
        try:
            async for output in self._engine.generate(
                prompt, _sampling_params(request), request_id, lora_request=adapter
            ):
                last = output
        except Exception as error:
            raise EpisodeFailure(FailureKind.INFRA, "vllm", describe(error)) from error
        finally:
            self.weights.under_way.discard(request_id)
        if last is None or last.prompt_token_ids != request.prompt_ids:
            raise EpisodeFailure(FailureKind.INFRA, "vllm", "the engine was given other token ids, or said nothing")
        return last

    def _generation(self, asked: GenerationRequest, output: Any, before: Said, said: Said) -> Generation:
        generated = output.outputs[0]
        count = len(before.token_ids)
        text = generated.text
        if count:  # a character may lie on both sides of the cut
            ids = said.token_ids.tolist()
            spoken = ids[:-1] if generated.finish_reason == "stop" else ids
            skip = not asked.keep_control_tokens
            text = self._engine.get_tokenizer().decode(spoken, skip_special_tokens=skip)
        return Generation(
            prompt_ids=asked.prompt_ids[: len(asked.prompt_ids) - count],
            token_ids=said.token_ids,
            logprobs=said.logprobs,
            text=text,
            truncated=generated.finish_reason == "length",
            versions=said.versions,
            cached_tokens=said.cached_tokens,
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


def _said(output: Any, versions: tuple[VersionSpan, ...]) -> Said:
    generated = output.outputs[0]
    token_ids = np.array(generated.token_ids, dtype=np.int32)
    return Said(
        token_ids, _sampled_logprobs(generated.logprobs, len(token_ids)), versions, output.num_cached_tokens or 0
    )


def _sampled_logprobs(flat: Any, count: int) -> Logprobs:
    """float32, shape (count,). The sampled token comes first at every position."""
    if flat is None:
        return np.zeros(count, dtype=np.float32)
    return np.array([flat.logprobs[start] for start in flat.start_indices], dtype=np.float32)
