"""One replica of a vLLM model: renders what is new, generates, parses. A plain class; `engine` makes it a deployment."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from deployments.small_model import NAME as SMALL_MODEL
from deployments.small_model import checkpoint_dir
from deployments.vllm import plain_calls, reaper
from deployments.vllm.chat_format import ChatFormat, Prompt
from deployments.vllm.options import VllmOptions
from deployments.vllm.tool_format import ToolFormat, tools_key
from ray_gym.errors import EpisodeFailure, FailureKind, UserError, describe
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest, FinishReason, SpanKind, VersionSpan

INLINE_TOKENS = 2048
"""Histories up to this long are rendered on the event loop (about a millisecond); longer ones in a thread."""


class VllmReplica:
    def __init__(self, options: VllmOptions, uses_tools: bool) -> None:
        """Loads the model. Errors: UserError for a model, template or parser that doesn't fit."""
        self.options = options
        on_cpu = options.gpus == 0
        if on_cpu:
            prepare_cpu(options)
        from transformers import AutoTokenizer, GenerationConfig

        path = resolve_model(options.model or "")
        tokenizer = AutoTokenizer.from_pretrained(path)
        stop_ids = _stop_ids(tokenizer, path, GenerationConfig)
        template = Path(options.chat_template).read_text() if options.chat_template else None
        self._format = ChatFormat(tokenizer, stop_ids, template)
        self._tool_format = ToolFormat(self._parser_name(uses_tools), options.reasoning_parser, tokenizer)
        self._reaper = reaper.watch()
        self._engine = self._load(path)
        self._max_model_len: int = self._engine.model_config.max_model_len

    def _parser_name(self, uses_tools: bool) -> str | None:
        if self.options.tool_parser or not uses_tools:
            return self.options.tool_parser
        if self._format.uses_our_template:
            return plain_calls.NAME  # what our template asks for
        if self._format.shows_tools:
            raise UserError(
                "the model has tools in its own chat template: set tool_parser to vLLM's name for their form"
            )
        raise UserError(
            "the model's chat template does not show tools and is not ChatML: set chat_template and tool_parser"
        )

    def _load(self, path: str) -> Any:
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        arguments: dict[str, Any] = {
            "model": path,
            "tensor_parallel_size": self.options.tensor_parallel,
            "logprobs_mode": "processed_logprobs",
            "disable_log_stats": True,
            "enable_log_requests": False,
            **({"dtype": cpu_dtype()} if self.options.gpus == 0 else {}),
            **self.options.engine_args,
        }
        try:
            return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))
        except TypeError as error:
            raise UserError(f"engine_args: {error}") from error

    async def complete(self, request: CompletionRequest) -> Completion:
        """Errors: EpisodeFailure (infra) when the engine breaks, or was given other ids than the history and the new ones."""
        prompt = await self._prompt(request)
        ids = prompt.new_ids.tolist()
        if prompt.fork_reason is None:
            ids = request.history.tolist() + ids
        room = self._max_model_len - len(ids)
        if room < 1:
            return Completion(Message("assistant"), finish_reason="context_full", prompt_tokens=len(ids))
        forced = self._forced(request)
        output = await self._generate(ids, self._sampling_params(request, forced, room))
        if output.prompt_token_ids != ids:
            raise EpisodeFailure(FailureKind.INFRA, "vllm", "the engine was given other token ids than the history")
        return await self._completion(request, prompt, output, forced, room)

    async def _prompt(self, request: CompletionRequest) -> Prompt:
        arguments = (request.messages, request.tools, request.known, request.history)
        try:
            if len(request.history) <= INLINE_TOKENS and request.known:
                return self._format.prompt(*arguments)
            return await asyncio.to_thread(self._format.prompt, *arguments)
        except UserError as error:
            raise EpisodeFailure(FailureKind.DATA, "chat template", str(error)) from error

    def _forced(self, request: CompletionRequest) -> tuple[str, str] | None:
        """The grammar that the call must follow, if tools are required."""
        if request.tool_choice != "required" or not request.allowed_tools:
            return None
        return self._tool_format.grammar(tools_key(request.allowed_tools), request.parallel_tool_calls)

    def _sampling_params(self, request: CompletionRequest, forced: tuple[str, str] | None, room: int) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        sampling = request.sampling
        return SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            min_p=sampling.min_p,
            presence_penalty=sampling.presence_penalty,
            frequency_penalty=sampling.frequency_penalty,
            repetition_penalty=sampling.repetition_penalty,
            max_tokens=min(sampling.max_tokens, room),
            stop=list(sampling.stop) or None,
            seed=sampling.seed,
            logprobs=0,
            flat_logprobs=True,
            output_kind=RequestOutputKind.FINAL_ONLY,
            structured_outputs=StructuredOutputsParams(**{forced[0]: forced[1]}) if forced else None,
        )

    async def _generate(self, ids: list[int], params: Any) -> Any:
        from vllm.inputs import TokensPrompt

        last = None
        try:
            async for output in self._engine.generate(TokensPrompt(prompt_token_ids=ids), params, uuid.uuid4().hex):
                last = output
        except Exception as error:
            raise EpisodeFailure(FailureKind.INFRA, "vllm", describe(error)) from error
        if last is None or last.outputs[0].finish_reason not in ("stop", "length"):
            raise EpisodeFailure(FailureKind.INFRA, "vllm", "the engine aborted the request")
        return last

    async def _completion(
        self, request: CompletionRequest, prompt: Prompt, output: Any, forced: tuple[str, str] | None, room: int
    ) -> Completion:
        generated = output.outputs[0]
        truncated = generated.finish_reason == "length"
        finish: FinishReason = "stop"
        if truncated:
            finish = "context_full" if room < request.sampling.max_tokens else "length"
        if truncated:
            message = Message("assistant", generated.text)
        else:
            message = self._tool_format.parse(generated.text, request.tools, forced, request.seed)
        plain: SpanKind = "plain" if request.sampling.is_plain else "truncated"
        token_ids = np.array(generated.token_ids, dtype=np.int32)
        return Completion(
            message=message,
            finish_reason=finish,
            prompt_ids=prompt.new_ids,
            prompt_lengths=prompt.lengths,
            token_ids=token_ids,
            logprobs=_sampled_logprobs(generated.logprobs, len(token_ids)),
            versions=_version_spans(generated.weight_versions, len(token_ids)),
            kind="constrained" if forced else plain,
            grammar=forced[1] if forced else None,
            fork_reason=prompt.fork_reason,
            prompt_tokens=len(output.prompt_token_ids),
            generated_tokens=len(token_ids),
            cached_tokens=output.num_cached_tokens or 0,
        )

    async def check_health(self) -> None:
        """Asked by Serve; an engine that died makes Serve replace the replica."""
        await self._engine.check_health()

    async def describe(self) -> dict[str, Any]:
        """What a run that attaches wants to know."""
        return {
            "model": self.options.model,
            "gpus": self.options.gpus,
            "max_model_len": self._max_model_len,
            "reads_tool_calls": self._tool_format.reads_calls,
        }

    def __del__(self) -> None:
        engine = getattr(self, "_engine", None)
        if engine is not None:
            engine.shutdown()


def resolve_model(name: str) -> str:
    """Errors: UserError if the small model was not fetched, or a path is not a checkpoint."""
    if name == SMALL_MODEL:
        if not (checkpoint_dir() / "config.json").exists():
            raise UserError(f"the small model is not in {checkpoint_dir()}: run `make model` first")
        return str(checkpoint_dir())
    path = Path(name).expanduser()
    if name.startswith(("/", "~", ".")) and not (path / "config.json").exists():
        raise UserError(f"{path} is no checkpoint (it has no config.json)")
    return str(path) if (path / "config.json").exists() else name


def prepare_cpu(options: VllmOptions) -> None:
    """Set before vLLM is imported: Ray gives every worker one OpenMP thread, vLLM binds all engines to the same core."""
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    openmp = Path(sys.prefix) / "lib" / "libiomp5.so"
    if openmp.exists():  # comes with vLLM for CPUs; about a tenth faster than GNU's (measured)
        os.environ.setdefault("LD_PRELOAD", str(openmp))
        os.environ.setdefault("KMP_BLOCKTIME", "1")  # ms that a thread spins: there are more processes than cores
    os.environ["OMP_NUM_THREADS"] = options.env_vars.get("OMP_NUM_THREADS") or str(os.cpu_count() or 1)


def cpu_dtype() -> str:
    """Without instructions for bfloat16, a CPU computes in it several times slower than in float32 (measured)."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return "bfloat16" if re.search(r"\b(avx512_bf16|amx_bf16)\b", flags) else "float32"


def _stop_ids(tokenizer: Any, path: str, generation_config: Any) -> list[int]:
    """What ends a generation: the tokenizer's end of sequence and those of the generation config, as vLLM has it."""
    found = [tokenizer.eos_token_id]
    try:
        listed = generation_config.from_pretrained(path).eos_token_id
    except OSError:
        listed = None
    found += listed if isinstance(listed, list) else [listed]
    return list(dict.fromkeys(stop_id for stop_id in found if stop_id is not None))


def _sampled_logprobs(flat: Any, count: int) -> np.ndarray:
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
