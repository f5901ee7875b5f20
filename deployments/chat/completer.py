"""Completes one model call: renders the new messages, generates, parses. The engine may be in this process or
elsewhere.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ray_gym.deployments.chat.answer_format import grammar_of
from ray_gym.deployments.chat.chat_format import ChatFormat, Prompt
from ray_gym.deployments.chat.token_engine import Generation, GenerationRequest, Grammar, TokenEngine
from ray_gym.deployments.chat.tool_format import ToolFormat, tools_key
from ray_gym.errors import EpisodeFailure, FailureKind, UserError
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest, FinishReason, SpanKind

INLINE_S = 0.002
"""Seconds of work above which it leaves the event loop; a change of threads costs a tenth of a millisecond."""

Result = TypeVar("Result")


class Completer:
    """A completer answers requests with a token engine. It is safe for many concurrent calls on one event loop."""

    def __init__(self, chat_format: ChatFormat, tool_format: ToolFormat, engine: TokenEngine) -> None:
        self._format = chat_format
        self._tool_format = tool_format
        self._engine = engine
        # One thread: more of them would not render faster (the interpreter lock), only keep the event loop waiting.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="chat-format")
        self._rendering = _Pace(1e-5)
        self._parsing = _Pace(1e-5)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the completion of a request.
        Errors: EpisodeFailure: infra when the engine breaks, or was given other ids than the history and the new ones;
        data when the template refuses the messages, or the engine the form that is asked for.
        """
        prompt = await self._prompt(request)
        ids = prompt.new_ids.tolist()
        if prompt.fork_reason is None:
            ids = request.history.tolist() + ids
        room = self._engine.max_model_len - len(ids)
        if room < 1:
            return Completion(Message("assistant"), finish_reason="context_full", prompt_tokens=len(ids))
        grammar = self._grammar(request)
        generation = await self._engine.generate(
            GenerationRequest(
                prompt_ids=ids,
                sampling=request.sampling,
                max_tokens=min(request.sampling.max_tokens, room),
                session_id=request.session_id,
                grammar=grammar,
                keep_control_tokens=self._tool_format.keeps_control_tokens(bool(request.tools)),
            )
        )
        if generation.prompt_ids != ids:
            raise EpisodeFailure(FailureKind.INFRA, "vllm", "the engine was given other token ids than the history")
        return await self._completion(request, prompt, generation, grammar, room)

    async def _prompt(self, request: CompletionRequest) -> Prompt:
        new = sum(map(_characters, request.messages[request.known :]))
        if request.known == 0:
            new += sum(len(tool.description) + len(str(tool.parameters)) for tool in request.tools)
        size = 4 * len(request.history) + new  # in characters, about
        arguments = (request.messages, request.tools, request.known, request.history)
        try:
            return await self._off_loop(self._rendering, size, lambda: self._format.prompt(*arguments))
        except UserError as error:
            raise EpisodeFailure(FailureKind.DATA, "chat template", str(error)) from error

    async def _off_loop(self, pace: _Pace, size: int, work: Callable[[], Result]) -> Result:
        """Does the work here if it should take a moment only, else in the thread."""
        if pace.seconds(size) <= INLINE_S:
            return pace.measure(size, work)
        return await asyncio.get_running_loop().run_in_executor(self._thread, pace.measure, size, work)

    def _grammar(self, request: CompletionRequest) -> Grammar | None:
        """Returns the grammar of the answer, or None: the form of a call, if tools are required, or the
        `response_format`.
        """
        calls = None
        if request.allowed_tools and (request.tool_choice == "required" or request.response_format is not None):
            calls = self._tool_format.grammar(tools_key(request.allowed_tools), request.parallel_tool_calls)
        if request.tool_choice == "required" and calls is not None:
            return calls
        if request.response_format is None:
            return None
        return grammar_of(request.response_format, calls if request.tool_choice == "auto" else None)

    async def _completion(
        self, request: CompletionRequest, prompt: Prompt, generation: Generation, grammar: Grammar | None, room: int
    ) -> Completion:
        finish: FinishReason = "stop"
        if generation.truncated:
            finish = "context_full" if room < request.sampling.max_tokens else "length"
        # A call that was cut off is no call, and where none was asked for there is none, though the prompt shows tools.
        tools = () if generation.truncated or request.tool_choice == "none" else request.tools
        plain: SpanKind = "plain" if request.sampling.is_plain else "truncated"
        return Completion(
            message=await self._off_loop(
                self._parsing,
                len(generation.text),
                lambda: self._tool_format.parse(generation, tools, grammar, request.seed),
            ),
            finish_reason=finish,
            prompt_ids=prompt.new_ids,
            prompt_lengths=prompt.lengths,
            token_ids=generation.token_ids,
            logprobs=generation.logprobs,
            versions=generation.versions,
            kind="constrained" if grammar else plain,
            grammar=grammar.text if grammar else None,
            fork_reason=prompt.fork_reason,
            prompt_tokens=len(generation.prompt_ids),
            generated_tokens=len(generation.token_ids),
            cached_tokens=generation.cached_tokens,
        )

    def close(self) -> None:
        self._thread.shutdown(wait=False)


def _characters(message: Message) -> int:
    return len(message.content) + len(message.reasoning or "") + sum(len(call.arguments) for call in message.tool_calls)


class _Pace:
    """A pace estimates how long a kind of work takes, by its size: the slowest seen lately counts, since templates
    differ a hundredfold.
    """

    def __init__(self, seconds_each: float) -> None:
        """Begins with `seconds_each`, a cautious first guess of the seconds for a unit of size."""
        self._seconds_each = seconds_each

    def seconds(self, size: int) -> float:
        return self._seconds_each * size

    def measure(self, size: int, work: Callable[[], Result]) -> Result:
        began = time.thread_time()  # waiting for the interpreter lock is not work
        try:
            return work()
        finally:
            took = (time.thread_time() - began) / max(size, 1000)
            self._seconds_each = max(took, 0.95 * self._seconds_each)
