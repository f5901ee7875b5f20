"""Defines a vLLM replica that records the requests to its engine, and can make them again without Serve and workers."""

from __future__ import annotations

import asyncio
import time
import uuid
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from benchmarks.lag import LAGS, watch_replica
from benchmarks.saturation.windows import EngineCall
from ray_gym.deployments.chat.completer import Completer
from ray_gym.deployments.chat.token_engine import Generation, GenerationRequest
from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.async_llm import AsyncLLMEngine
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.deployments.vllm.replica import VllmReplica
from ray_gym.hosting.application import DeploymentSpec


@dataclass(frozen=True, slots=True)
class LongRequest(GenerationRequest):
    """Asks for an answer of at least `min_tokens` tokens.

    Rollouts have no such option, since such an answer is no true sample of the policy.
    """

    min_tokens: int = 0

    @staticmethod
    def of(request: GenerationRequest, min_tokens: int) -> LongRequest:
        return LongRequest(
            **{field.name: getattr(request, field.name) for field in fields(request)}, min_tokens=min_tokens
        )

    def sampling_fields(self) -> Mapping[str, Any]:
        return {**GenerationRequest.sampling_fields(self), "min_tokens": self.min_tokens}


def least_tokens(prompt_ids: Sequence[int], mean: int) -> int:
    """Returns the least number of tokens that the answer to a prompt must have, from 1 to 2 * mean - 1.

    It is derived from the prompt, and uniformly distributed. With one number for all, episodes that began together
    would stay in step, and only one of two engines would be busy at a time.
    """
    return 1 + zlib.crc32(array("q", prompt_ids).tobytes()) % (2 * mean - 1)


class RecordingEngine:
    """Wraps an engine for a completer. It sets the least number of tokens of each answer, and records the calls."""

    def __init__(self, engine: AsyncLLMEngine) -> None:
        self._engine = engine
        self.mean_least_tokens = 1
        self.calls: list[EngineCall] = []

    @property
    def max_model_len(self) -> int:
        return self._engine.max_model_len

    async def generate(self, request: GenerationRequest) -> Generation:
        least = least_tokens(request.prompt_ids, self.mean_least_tokens)
        request = LongRequest.of(request, min(least, request.max_tokens))
        began_at = time.time()
        generation = await self._engine.generate(request)
        tokens, cached = len(generation.token_ids), generation.cached_tokens
        self.calls.append(EngineCall(request, began_at, time.time(), tokens, cached))
        return generation


class RecordingReplica(VllmReplica):
    """Records the calls to its engine, and has methods for the benchmark beside those of a replica."""

    def __init__(self, options: VllmOptions, uses_tools: bool, name: str) -> None:
        super().__init__(options, uses_tools, name)
        self._recording = RecordingEngine(self._engine)
        self._completer = Completer(self._chat_format, self._tool_format, self._recording)
        self._server: asyncio.Server | None = None
        self._steps = 0
        self._count_steps()
        self._pulse = watch_replica()

    def _count_steps(self) -> None:
        stats = self._engine.stats
        update = stats.update

        def counted(scheduler_stats: Any) -> None:
            self._steps += 1
            update(scheduler_stats)

        setattr(stats, "update", counted)  # noqa: B010

    async def begin(self, mean_least_tokens: int = 1) -> None:
        """Begins a round with an empty cache and no recorded calls.

        `mean_least_tokens`: mean of the least number of tokens of answers; 1 for direct calls, whose requests hold that
        number already.
        """
        await self._engine.client.reset_prefix_cache()
        self._recording.calls, self._recording.mean_least_tokens = [], mean_least_tokens
        self._steps = 0

    async def steps(self) -> int:
        return self._steps

    async def calls(self) -> list[EngineCall]:
        return self._recording.calls

    async def open_directly(self, calls: list[EngineCall]) -> int:
        """Opens a TCP port, by which a client makes these calls, and returns it.

        The client sends indices of `calls`, one in each line, and gets each back when the call is done. A port that was
        opened before is closed.
        """

        async def answer_calls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while line := await reader.readline():
                await self._generate(calls[int(line)])
                writer.write(line)
            writer.close()

        if self._server is not None:
            self._server.close()
        self._server = await asyncio.start_server(answer_calls, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _generate(self, call: EngineCall) -> None:
        """Makes a call by vLLM alone, with its stop strings, and records it.

        If it were given a number of tokens in place of the stop strings, it would save the one step that vLLM makes
        until it finds a stop string.
        """
        from vllm import SamplingParams
        from vllm.inputs import TokensPrompt
        from vllm.sampling_params import RequestOutputKind

        output = RequestOutputKind.FINAL_ONLY
        params = SamplingParams(**call.request.sampling_fields(), logprobs=0, flat_logprobs=True, output_kind=output)
        prompt = TokensPrompt(prompt_token_ids=call.request.prompt_ids)
        began_at, last = time.time(), None
        async for given in self._engine.client.generate(prompt, params, uuid.uuid4().hex):
            last = given
        assert last is not None
        tokens, cached = len(last.outputs[0].token_ids), last.num_cached_tokens or 0
        self._recording.calls.append(EngineCall(call.request, began_at, time.time(), tokens, cached))


class RecordingVllm(VllmEngine):
    """Implements an engine whose replicas are RecordingReplica."""

    def _deployment_spec(self, name: str) -> DeploymentSpec:
        return replace(super()._deployment_spec(name), replica_class=RecordingReplica)


def make_engine(model: str, engine_args: dict[str, Any], threads: int, gpus: float, lags: Path) -> RecordingVllm:
    """Makes an engine whose replica records calls, and writes the lag of its event loop to the folder `lags`.

    `model`: name of the model. `engine_args`: arguments of vLLM. `threads`: number of the replica's OpenMP threads.
    `gpus`: GPUs of the replica; 0: CPU.
    """
    env_vars = {"OMP_NUM_THREADS": str(threads), LAGS: str(lags)}
    return RecordingVllm(VllmOptions(model=model, gpus=gpus, engine_args=engine_args, env_vars=env_vars))
