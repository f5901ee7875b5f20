"""Serves a model under vLLM in one replica. The class is a plain one; the module `engine` makes a Serve deployment of
it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import FastAPI

from ray_gym.deployments.chat.checkpoint import load_tokenizer, resolve_model
from ray_gym.deployments.chat.completer import Completer
from ray_gym.deployments.chat.formats import make_formats
from ray_gym.deployments.vllm import reaper
from ray_gym.deployments.vllm.async_llm import AsyncLLMEngine
from ray_gym.deployments.vllm.engine_seed import engine_seed
from ray_gym.deployments.vllm.hardware import prepare_cpu
from ray_gym.deployments.vllm.load_meter import LoadMeter
from ray_gym.deployments.vllm.openai_app import build_openai_app
from ray_gym.deployments.vllm.openai_door import OpenAIDoor
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.hosting.admission import ReplicaLoad
from ray_gym.hosting.lanes.replica import BatchedReplica
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.models.door import DoorPart, DoorRequest
from ray_gym.models.tokenizers import TokenizerDigest
from ray_gym.weights.serving import make_follower, served_app, served_replica


class VllmReplica(BatchedReplica):
    """Answers the calls of episodes, and requests in OpenAI's formats, by one engine."""

    def __init__(self, options: VllmOptions, uses_tools: bool, name: str) -> None:
        """Loads the model, which takes minutes for large ones.

        `uses_tools`: True if participants have tools. `name`: the model's name in the config. Errors: UserError for a
        model, template, parser or engine argument that doesn't fit; NotInstalled if the small model was not fetched.
        """
        self.options = options
        if options.gpus == 0:
            prepare_cpu(options)
        model = options.model or ""
        self._tokens = load_tokenizer(model)
        self._chat_format, self._tool_format = make_formats(options, model, self._tokens, uses_tools)
        self._reaper = reaper.watch()
        app = served_app()
        parser, seed = self._tool_format.reasoning_parser, engine_seed(app, served_replica())
        self._engine = AsyncLLMEngine(resolve_model(model), options, parser, name, app, seed)
        self._follower = make_follower(app, self._engine.weights)
        self._completer = Completer(self._chat_format, self._tool_format, self._engine)
        self._meter = LoadMeter(self._engine.stats, self._engine.block_size)
        self._name = name
        self._door = OpenAIDoor(name, self._openai_app, options.gpus > 0, self._engine.gate)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the completion of a request, with its exact token ids; an empty one with `context_full` if the prompt
        leaves no room.

        Errors: EpisodeFailure (infra if the engine breaks; data if the template refuses the messages, or the engine the
        grammar).
        """
        completion = await self._completer.complete(request)
        self._meter.count(request, completion)
        return completion

    async def count_tokens(self, request: CompletionRequest) -> int:
        """Returns the number of tokens of a request's prompt. Errors: EpisodeFailure (data) if the template can't show
        the tools or refuses the messages.
        """
        return await self._completer.count_tokens(request)

    async def load(self) -> ReplicaLoad:
        """Returns the replica's load. Workers ask for it before they begin new episodes."""
        return self._meter.load()

    async def openai(self, request: DoorRequest) -> AsyncGenerator[DoorPart, None]:
        """Yields the parts of an answer to a request in OpenAI's formats, by vLLM's own server. It belongs to no
        episode, and is not recorded.
        """
        async with aclosing(self._door.answer(request)) as parts:
            async for part in parts:
                yield part

    async def _openai_app(self) -> FastAPI:
        path, client = resolve_model(self.options.model or ""), self._engine.client
        return await build_openai_app(client, path, self._name, self.options, self._chat_format, self._tool_format)

    async def check_health(self) -> None:
        """Checks the engine, and that it has the weights of the other replicas. Serve calls it regularly, and replaces
        the replica if it raises. The first call, before the replica gets calls, waits until it has these weights.

        Errors: those of vLLM if the engine is dead; RuntimeError if the replica can't follow updates of the weights any
        more.
        """
        await self._engine.check_health()
        if self._follower is not None:
            await self._follower.check_health()

    async def tokenizer(self) -> TokenizerDigest:
        """Returns the digest of the model's tokenizer."""
        return await asyncio.to_thread(TokenizerDigest.of, self._tokens.tokenizer)

    async def describe(self) -> dict[str, Any]:
        """Returns a description for runs that attach: the model, its GPUs per rank, its context in tokens, whether it
        reads tool calls, its transport, the version of its weights, and how many adapters it generates with at a time (0: it takes none).
        """
        return {
            "model": self.options.model,
            "gpus": self.options.gpus,
            "max_model_len": self._engine.max_model_len,
            "reads_tool_calls": self._tool_format.reads_calls,
            "transport": self.transport,
            "max_loras": self._engine.max_loras,
            "weights_version": self._engine.weights.served.own.version,
        }

    def __del__(self) -> None:
        self.mark_stopping()
        engine = getattr(self, "_engine", None)
        if engine is not None:
            engine.shutdown()
