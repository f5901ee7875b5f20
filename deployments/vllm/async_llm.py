"""Runs vLLM's engine in this process, as a `TokenEngine`."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import numpy as np

from ray_gym.deployments.chat.token_engine import ENVIRONMENT_TOOLS, Generation, GenerationRequest
from ray_gym.deployments.vllm.engine_stats import EngineStats
from ray_gym.deployments.vllm.grammar_gate import GrammarGate, GrammarRefused
from ray_gym.deployments.vllm.hardware import cpu_engine_args
from ray_gym.deployments.vllm.layout import parallel_args
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.deployments.vllm.weights import EngineWeights
from ray_gym.errors import EpisodeFailure, FailureKind, UserError, describe
from ray_gym.models.base import Logprobs

SAMPLING = "sampling"
"""Place of failures by sampling parameters that the engine refuses. They come again with each try, so none is made."""


class AsyncLLMEngine:
    """Generates by vLLM's AsyncLLM. It is safe for many concurrent calls on one event loop."""

    def __init__(
        self,
        path: str,
        options: VllmOptions,
        reasoning_parser: str | None,
        name: str = "",
        app: str = "",
        seed: int | None = None,
    ) -> None:
        """Loads the model, and blocks until it is loaded.

        `path`: folder of the checkpoint. `reasoning_parser`: vLLM's name of the reasoning parser, if there is one;
        grammars begin after the reasoning. `name`: name of the model in the config, for metrics. `app`: name of the
        Serve application; "" outside of Serve. `seed`: the engine's seed, unless `engine_args` have one; None leaves it
        to vLLM. Errors: UserError for engine arguments that vLLM doesn't have.
        """
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM
        from vllm.v1.metrics.ray_wrappers import RayPrometheusStatLogger

        arguments: dict[str, Any] = {
            "model": path,
            **({"served_model_name": name} if name else {}),  # vLLM's metrics have it as a label
            **parallel_args(options),
            "logprobs_mode": "processed_logprobs",
            "worker_extension_cls": "ray_gym.deployments.vllm.worker.ReloadingWorker",
            "disable_log_stats": True,
            "enable_log_requests": False,
            **(cpu_engine_args(options) if options.gpus == 0 else {}),
            **(
                {"reasoning_parser": reasoning_parser} if reasoning_parser else {}
            ),  # a grammar begins after the reasoning
            **({} if seed is None else {"seed": seed}),
            **adapter_args(options.engine_args),
            **options.engine_args,
        }
        self.stats = EngineStats()
        try:
            loggers = [self.stats.make_logger, *([RayPrometheusStatLogger] if app and options.engine_metrics else [])]
            self._engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments), stat_loggers=loggers)
        except TypeError as error:
            raise UserError(f"engine_args: {error}") from error
        self.gate = GrammarGate(self._engine)
        self.weights = EngineWeights(self._engine, path, options.weights_version, app)

    @property
    def client(self) -> Any:
        """Returns vLLM's AsyncLLM, for its own servers and for updates of the weights."""
        return self._engine

    @property
    def max_model_len(self) -> int:
        length: int = self._engine.model_config.max_model_len
        return length

    @property
    def block_size(self) -> int:
        """Returns the number of tokens in a block of the KV cache."""
        size: int = self._engine.vllm_config.cache_config.block_size
        return size

    @property
    def max_loras(self) -> int:
        """Returns how many LoRA adapters may generate at a time; 0 if the engine takes none."""
        config = self._engine.vllm_config.lora_config
        return 0 if config is None else int(config.max_loras)

    async def generate(self, request: GenerationRequest) -> Generation:
        """Returns the tokens that the model generates after the ids of a prompt. A generation that an update of the
        weights discards is retried from its prompt.

        Errors: EpisodeFailure (data for sampling parameters or a grammar that the engine refuses, and for a grammar that
        it can't compile in time; infra if the engine fails).
        """
        grammar = request.grammar
        if grammar is not None and grammar.field != ENVIRONMENT_TOOLS:
            try:
                await self.gate.admit({grammar.kind: grammar.text})
            except GrammarRefused as error:
                raise EpisodeFailure(FailureKind.DATA, grammar.field, str(error)) from error
        while True:
            generation = await self._generate(request)
            if generation is not None:
                return generation

    async def _generate(self, request: GenerationRequest) -> Generation | None:
        """Generates once, after waiting while the engine is paused. Returns None if an update of the weights discarded
        the generation. Errors: EpisodeFailure (data if the engine refuses the request, infra if it fails).
        """
        from vllm.exceptions import VLLMClientError, VLLMValidationError
        from vllm.inputs import TokensPrompt

        weights, grammar = self.weights, request.grammar
        await weights.wait_until_open()
        adapter, aborts, loads = weights.adapter_of(request.line), weights.aborts, weights.loads
        prompt = TokensPrompt(prompt_token_ids=request.prompt_ids)
        try:
            sampling = _sampling_params(request)
        except (VLLMValidationError, ValueError) as error:
            raise EpisodeFailure(FailureKind.DATA, SAMPLING, str(error)) from error
        last = None
        try:
            async for output in self._engine.generate(
                prompt, sampling, uuid.uuid4().hex, lora_request=adapter and adapter.request
            ):
                last = output
        except Exception as error:
            if grammar is not None and isinstance(error, VLLMClientError | ValueError):
                raise EpisodeFailure(FailureKind.DATA, grammar.field, str(error)) from error
            if isinstance(error, VLLMValidationError):
                raise EpisodeFailure(FailureKind.DATA, SAMPLING, str(error)) from error
            raise EpisodeFailure(FailureKind.INFRA, "vllm", describe(error)) from error
        if grammar is not None and last is not None and last.outputs[0].finish_reason == "error":
            raise EpisodeFailure(FailureKind.DATA, grammar.field, "it can't be compiled to a grammar")
        if adapter is not None and loads != weights.loads:
            return None  # the base weights of the adapter have changed
        if last is None or last.outputs[0].finish_reason not in ("stop", "length"):
            if aborts != weights.aborts:
                return None
            raise EpisodeFailure(FailureKind.INFRA, "vllm", "the engine aborted the request")
        generated = last.outputs[0]
        token_ids = np.array(generated.token_ids, dtype=np.int32)
        return Generation(
            prompt_ids=last.prompt_token_ids,
            token_ids=token_ids,
            logprobs=_sampled_logprobs(generated.logprobs, len(token_ids)),
            text=generated.text,
            truncated=generated.finish_reason == "length",
            versions=weights.spans(generated.weight_versions, len(token_ids), adapter),
            cached_tokens=last.num_cached_tokens or 0,
            stop_text=generated.stop_reason if isinstance(generated.stop_reason, str) else None,
        )

    async def check_health(self) -> None:
        await self._engine.check_health()

    def shutdown(self) -> None:
        self._engine.shutdown()


def adapter_args(engine_args: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the engine's own arguments for LoRA adapters: it keeps twice as many of them as may generate at a time.
    A new version of each line comes while answers are still made by the one before, and none is read anew for that.
    """
    most = engine_args.get("max_loras", 1)
    return {"max_cpu_loras": 2 * most} if engine_args.get("enable_lora") and isinstance(most, int) else {}


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
    """Returns the log probabilities of the sampled tokens (float32 [count]). `flat` is vLLM's FlatLogprobs, in which
    the sampled token comes first at every position; with None they are zeros.
    """
    if flat is None:
        return np.zeros(count, dtype=np.float32)
    return np.array([flat.logprobs[start] for start in flat.start_indices], dtype=np.float32)
