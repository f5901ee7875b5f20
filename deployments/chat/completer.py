"""Completes model calls: renders the new messages, generates, and parses the answer. The engine may be in this process
or elsewhere.
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
"""Seconds that rendering or parsing may take on the event loop; longer work is done in a thread, which costs a tenth of
a millisecond more.
"""

Result = TypeVar("Result")


class Completer:
    """A completer answers requests with a token engine. It is safe for many concurrent calls on one event loop."""

    def __init__(self, chat_format: ChatFormat, tool_format: ToolFormat, engine: TokenEngine) -> None:
        self._format = chat_format
        self._tool_format = tool_format
        self._engine = engine
        # One thread: more would not be faster, as they share the interpreter lock, also with the event loop.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="chat-format")
        self._rendering = _WorkEstimate(1e-5)
        self._parsing = _WorkEstimate(1e-5)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the completion of a request, with its exact token ids; an empty one with `context_full` if the prompt
        leaves no room for a token.

        Errors: EpisodeFailure (infra if the engine breaks, or if its prompt was not the history and the new ids; data
        if the template can't show the tools or refuses the messages, or if the `response_format` or the tools give no
        grammar that the engine accepts).
        """
        prompt = await self._render_prompt(request)
        ids = prompt.new_ids.tolist()
        if prompt.fork_reason is None:
            ids = request.history.tolist() + ids
        room = self._engine.max_model_len - len(ids)
        if room < 1:
            return Completion(Message("assistant"), finish_reason="context_full", prompt_tokens=len(ids))
        grammar = self._choose_grammar(request)
        generation = await self._engine.generate(
            GenerationRequest(
                prompt_ids=ids,
                sampling=request.sampling,
                max_tokens=min(request.sampling.max_tokens, room),
                session_id=request.session_id,
                grammar=grammar,
                keep_control_tokens=self._tool_format.keeps_control_tokens(bool(request.tools)),
                line=request.line,
            )
        )
        if generation.prompt_ids != ids:
            raise EpisodeFailure(FailureKind.INFRA, "vllm", "the engine got other token ids than the history")
        return await self._make_completion(request, prompt, generation, grammar, room)

    async def _render_prompt(self, request: CompletionRequest) -> Prompt:
        new = sum(map(_count_characters, request.messages[request.known :]))
        if request.known == 0:
            new += sum(len(tool.description) + len(str(tool.parameters)) for tool in request.tools)
        size = 4 * len(request.history) + new  # in characters, about
        arguments = (request.messages, request.tools, request.known, request.history)
        try:
            return await self._run_off_loop(self._rendering, size, lambda: self._format.prompt(*arguments))
        except UserError as error:
            raise EpisodeFailure(FailureKind.DATA, "chat template", str(error)) from error

    async def _run_off_loop(self, estimate: _WorkEstimate, size: int, work: Callable[[], Result]) -> Result:
        """Does `work` and returns its result: on the event loop if it is estimated to take at most `INLINE_S` seconds,
        else in the thread. `size`: size of the work, in characters.
        """
        if estimate.seconds(size) <= INLINE_S:
            return estimate.measure(size, work)
        return await asyncio.get_running_loop().run_in_executor(self._thread, estimate.measure, size, work)

    def _choose_grammar(self, request: CompletionRequest) -> Grammar | None:
        """Returns the grammar of the answer: that of a tool call if `tool_choice` is required and there are tools to
        call, else that of the `response_format`, which may also allow calls; None if the request asks for neither.

        Errors: EpisodeFailure (data) if calls are allowed beside the `response_format`, and this model's calls have no
        structural tag.
        """
        calls = None
        if request.allowed_tools and (request.tool_choice == "required" or request.response_format is not None):
            calls = self._tool_format.grammar(tools_key(request.allowed_tools), request.parallel_tool_calls)
        if request.tool_choice == "required" and calls is not None:
            return calls
        if request.response_format is None:
            return None
        return grammar_of(request.response_format, calls if request.tool_choice == "auto" else None)

    async def _make_completion(
        self, request: CompletionRequest, prompt: Prompt, generation: Generation, grammar: Grammar | None, room: int
    ) -> Completion:
        finish: FinishReason = "stop"
        if generation.truncated:
            finish = "context_full" if room < request.sampling.max_tokens else "length"
        # A truncated call is no call, and with tool_choice none there are no calls, though the prompt shows tools.
        tools = () if generation.truncated or request.tool_choice == "none" else request.tools
        plain: SpanKind = "plain" if request.sampling.is_plain else "truncated"
        return Completion(
            message=await self._run_off_loop(
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
            stop_text=generation.stop_text,
        )

    async def count_tokens(self, request: CompletionRequest) -> int:
        """Returns the number of tokens of a request's whole prompt. Errors: EpisodeFailure (data) if the template can't
        show the tools or refuses the messages.
        """
        prompt = await self._render_prompt(request)
        return len(prompt.new_ids) + (len(request.history) if prompt.fork_reason is None else 0)

    def close(self) -> None:
        self._thread.shutdown(wait=False)


def _count_characters(message: Message) -> int:
    return len(message.content) + len(message.reasoning or "") + sum(len(call.arguments) for call in message.tool_calls)


class _WorkEstimate:
    """Estimates how long a kind of work takes, in proportion to its size. The slowest recent work counts most, since
    some templates take a hundred times as long as others.
    """

    def __init__(self, seconds_each: float) -> None:
        """Creates an estimate. `seconds_each`: first guess of the seconds for a unit of size."""
        self._seconds_each = seconds_each

    def seconds(self, size: int) -> float:
        """Returns the estimated seconds for work of this size."""
        return self._seconds_each * size

    def measure(self, size: int, work: Callable[[], Result]) -> Result:
        """Does `work` and returns its result. Corrects the estimate by the CPU time that the work took in this thread,
        also if the work raises.
        """
        began = time.thread_time()  # it does not count waits for the interpreter lock
        try:
            return work()
        finally:
            took = (time.thread_time() - began) / max(size, 1000)
            self._seconds_each = max(took, 0.95 * self._seconds_each)
