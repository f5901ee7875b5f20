"""One replica of a vLLM model. A plain class; `engine` makes it a deployment."""

from __future__ import annotations

from typing import Any

from deployments.vllm import reaper
from deployments.vllm.async_llm import AsyncLLMEngine
from deployments.vllm.checkpoint import load_tokens, resolve_model
from deployments.vllm.completer import Completer
from deployments.vllm.formats import make_formats
from deployments.vllm.hardware import prepare_cpu
from deployments.vllm.options import VllmOptions
from ray_gym.models.base import Completion, CompletionRequest


class VllmReplica:
    def __init__(self, options: VllmOptions, uses_tools: bool) -> None:
        """Loads the model. Errors: UserError for a model, template or parser that doesn't fit."""
        self.options = options
        if options.gpus == 0:
            prepare_cpu(options)
        model = options.model or ""
        chat_format, self._tool_format = make_formats(options, model, load_tokens(model), uses_tools)
        self._reaper = reaper.watch()
        self._engine = AsyncLLMEngine(resolve_model(model), options, self._tool_format.reasoning_parser)
        self._completer = Completer(chat_format, self._tool_format, self._engine)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Errors: EpisodeFailure, as `Completer` has them."""
        return await self._completer.complete(request)

    async def check_health(self) -> None:
        """Asked by Serve; an engine that died makes Serve replace the replica."""
        await self._engine.check_health()

    async def describe(self) -> dict[str, Any]:
        """What a run that attaches wants to know."""
        return {
            "model": self.options.model,
            "gpus": self.options.gpus,
            "max_model_len": self._engine.max_model_len,
            "reads_tool_calls": self._tool_format.reads_calls,
        }

    def __del__(self) -> None:
        engine = getattr(self, "_engine", None)
        if engine is not None:
            engine.shutdown()
