"""A bounded episode makes its calls within its limits, and ends when one of them or the environment ends it.

`ray_gym.episode.episode` adds the commands by which participants speak.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ray_gym.config.interpolations import without_secrets
from ray_gym.episode import limits
from ray_gym.episode.awaiting import command
from ray_gym.episode.blame import blame_simulator, fault_of, is_policy
from ray_gym.episode.participant import Participant
from ray_gym.episode.thread import Asked, Thread
from ray_gym.episode.view import EpisodeView
from ray_gym.episode.wording import has_words
from ray_gym.errors import EpisodeFailure, Failure, wrong_return
from ray_gym.events import EventKind
from ray_gym.json_values import of_numpy
from ray_gym.messages import Message, ToolCall, ToolSchema, is_blank
from ray_gym.models.base import Completion
from ray_gym.rendering import FAILED, Html, Markdown, rendering_of
from ray_gym.stop import EpisodeOver, StopReason
from ray_gym.tools.answer import ToolAnswer, WhenLost
from ray_gym.tools.calling import call_tool
from ray_gym.tools.library import IsolatedResult

Result = TypeVar("Result")


class BoundedEpisode(EpisodeView):
    """Makes the calls of one episode within its limits, and ends the episode when a limit or the environment says so."""

    # ---- calls to what lies outside of the state ----

    @command
    async def effect(
        self,
        name: str,
        make: Callable[[str], Awaitable[Any]],
        arguments: Any = None,
        when_lost: WhenLost = "retry",
    ) -> Any:
        """Does something outside of the episode that must not be done again when the episode is resumed elsewhere.

        `make` is awaited with an idempotency key that is the same in every attempt. Its result (JSON data) is recorded
        and returned; a replay returns the record. `when_lost` says what happens if the worker dies before the record:
        "retry" makes the effect again with the same key, "fail" fails the episode. Errors: EpisodeFailure, also for any
        exception of `make`; Diverged if a replay does not match the record.
        """
        return await self.calls.effect(name, arguments, make, when_lost)

    @command
    async def isolated(
        self, function: str, *arguments: Any, deadline_s: float, memory_mb: int | None = None
    ) -> IsolatedResult:
        """Calls a function (package.module:name; JSON data in and out) in a process of its own, and kills it after
        `deadline_s` seconds.

        Returns the function's result, or its error. Both are recorded, and returned again in a replay. `memory_mb`:
        most megabytes that the process may take; None: no limit. Errors: EpisodeFailure (environment) if there is no
        such function; Diverged if a replay does not match the record.
        """
        given = json.dumps(
            arguments, default=of_numpy
        )  # the journal takes text of any kind, but no integer of more than 64 bits

        async def call(key: str) -> tuple[str, str | None]:
            return await self._tool_runner.libraries.call(function, given, deadline_s, memory_mb)

        text, error = await self.calls.effect(function, given, call, "retry")
        return IsolatedResult(json.loads(text), error)

    @command
    async def in_thread(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Calls a blocking function in a thread, within `tool_deadline_s` seconds, and returns its result. A replay
        calls it again, since it works on the state.

        Errors: exceptions of the function; TimeoutError; EpisodeFailure (infra) when this worker has no threads left;
        Diverged if a replay does not match the record.
        """
        name, pool = getattr(function, "__name__", "call"), self._tool_runner.blocking
        call = partial(pool.run, name, partial(function, *arguments), self.limits.tool_deadline_s)
        return await self.calls.in_order(f"thread {name}", call)

    # ---- calls to models and tools ----

    async def _complete(self, thread: Thread, asked: Asked, kind: EventKind = "message") -> Completion | None:
        """Makes a model call within all limits, and returns its answer; None means that a limit ended the episode
        instead. The answer joins the thread as an event of `kind`. Errors: EpisodeFailure; Diverged.
        """
        participant = thread.participant
        counts = participant.name in self.environment.participants
        if counts and self._is_used_up():
            return None
        request = thread.request(asked, self._remaining_tokens() if counts else 2**31 - 1)
        try:
            answered = await self.calls.complete(thread, request)
        except EpisodeFailure as error:
            blame_simulator(participant, error, judges=self._judges(participant))
            raise
        self.transcript.put_answer(thread, kind, answered, asked)
        self.usage.count(answered.completion, answered.duration_s, counts)
        if participant.name in self.costs:
            self.costs[participant.name] += self._prices[participant.model].cost(answered.completion)
        self._now = answered.started_at + answered.duration_s
        return answered.completion

    async def _answer_of_tool(self, caller: Participant, call: ToolCall) -> ToolAnswer:
        """Carries out a tool call, and returns its answer.

        In an error, secrets of the config's environment variables are masked. The answer of a tool with an effect outside
        of the episode is recorded, so that a replay does not call the tool again. Other tools are called again in a
        replay; those that take time then end in the same order.
        """

        async def carry_out(key: str = "") -> ToolAnswer:
            limit, runner = self.limits.tool_deadline_s, self._tool_runner
            answer = await call_tool(self.environment, self.tools, self.state, caller, call, limit, runner, key)
            if answer.error is None:
                return answer
            content, error = (without_secrets(text, self.filled_in) for text in (answer.content, answer.error))
            return ToolAnswer(content, error)

        async def recorded(key: str) -> list[str | None]:
            answer = await carry_out(key)
            return [answer.content, answer.error]

        tool = self.tools.get(call.name)
        if tool is None or not (tool.options.effect or tool.takes_time):
            return await carry_out()
        if tool.options.effect is None:
            return await self.calls.in_order(f"tool {call.name}", carry_out)
        content, error = await self.effect(call.name, recorded, [caller.name, call.arguments], tool.options.effect)
        return ToolAnswer(content, error)

    def tools_of(self, participant: Participant) -> tuple[tuple[ToolSchema, ...], tuple[ToolSchema, ...]]:
        """Returns the schemas of a participant's tools twice: as its prompt shows them, and as the state narrows them
        now.
        """
        shown = self._tools_shown_to(participant)
        if not shown or not self.environment.narrows():
            return shown, shown
        return shown, tuple([self._narrow(schema, participant) for schema in shown])

    def _narrow(self, schema: ToolSchema, participant: Participant) -> ToolSchema:
        """Returns a tool's schema as the state narrows it now; the schema itself if it does not."""
        given = replace(schema, parameters=deepcopy(schema.parameters))
        narrowed = self.environment.narrow(given, self.state, participant)
        if not isinstance(narrowed, ToolSchema):
            raise wrong_return(self.environment, "narrow", narrowed, "a ToolSchema")
        return schema if narrowed is given and narrowed == schema else narrowed

    def _tools_shown_to(self, participant: Participant) -> tuple[ToolSchema, ...]:
        if participant.tool_choice == "none":
            return ()
        shown = self._shown.get(participant.name)
        if shown is None:
            shown = tuple(tool.schema for tool in self.tools.values() if tool.offered_to(participant.name))
            self._shown[participant.name] = shown
        return shown

    # ---- the end ----

    def _is_used_up(self) -> bool:
        """Ends the episode if a limit leaves no room for another call. Returns True if the episode has ended."""
        if (stop := limits.reached_limit(self)) is not None:
            self.end(stop.reason, stop.text)
        return self.stopped

    def _judges(self, participant: Participant) -> bool:
        return self.scoring and participant.name in self.environment.auxiliary

    def _remaining_tokens(self) -> int:
        budget = self.limits.token_budget
        return budget - self.usage.budgeted_tokens if budget is not None else 2**31 - 1

    def _end_truncated(self, speaker: str, completion: Completion) -> None:
        text = completion.message.content
        if self._remaining_tokens() <= 0:
            self.end(StopReason.TOKEN_BUDGET, text)
        elif not is_policy(self.participants[speaker]):
            raise fault_of(self.participants[speaker], _why_cut(speaker, completion), judges=False)
        elif completion.finish_reason == "context_full":
            self.end(StopReason.CONTEXT_FULL, text or _why_empty(completion))
        elif completion.finish_reason == "content_filter":
            self.end(StopReason.CONTENT_FILTER, text)
        else:
            self.end(StopReason.MAX_TOKENS, text)

    def _turns_are_used_up(self, name: str) -> bool:
        if self.turns_of(name) < self.participants[name].max_turns:
            return False
        self.end(StopReason.MAX_TURNS, name)
        return True

    def end_if_finished(self) -> bool:
        """Asks the environment whether the episode is over, and ends it if so.

        Returns True if the environment says so.
        """
        if self.environment.renders():
            self._render()
        outcome = self.environment.finished(self.state, self)
        if outcome is not None and (not isinstance(outcome, str) or is_blank(outcome)):
            raise wrong_return(self.environment, "finished", outcome, "a text, or None while the episode goes on")
        if outcome is not None:
            self.end(StopReason.FINISHED, outcome)
        return outcome is not None

    def _render(self) -> None:
        """Records the environment's picture of the state, if it is another one than the last. Pictures are for people,
        so a mistake in `render` spoils no episode: it is recorded in the picture's place.
        """
        try:
            rendered = self.environment.render(self.state, self)
            if rendered is not None and not isinstance(rendered, Markdown | Html):
                raise TypeError(f"it returned a {type(rendered).__name__}; expected Markdown, Html or None")
            if rendered is not None and not isinstance(rendered.text, str):
                raise TypeError(f"it returned a picture with a {type(rendered.text).__name__}; expected a text")
        except Exception as error:
            failure = Failure.of(error, "", code=type(self.environment).render)
            rendered = Markdown(f"{FAILED}{failure.message}{failure.where}")
        if rendered is None:
            return
        made = rendering_of(self.events[-1].seq if self.events else -1, rendered)
        last = self.renderings[-1] if self.renderings else None
        if last is None or (made.kind, made.text) != (last.kind, last.text):
            self.renderings.append(made)

    def _check_over(self, speaker: str, message: Message) -> None:
        if not message.tool_calls and self.end_if_finished():
            return
        stop_text = self.participants[speaker].stop_text
        if stop_text and has_words(message.content, stop_text):
            self.end(StopReason.STOP_TEXT, message.content)

    def _require_open(self) -> None:
        if self.stop is not None:
            raise EpisodeOver(self.stop.reason)


def _why_cut(speaker: str, completion: Completion) -> str:
    """Returns why a simulator's message was cut, with the key of the config to change. It is the same for all episodes:
    what was said is in the record.
    """
    if completion.finish_reason == "length":
        return f"its message was cut at max_tokens: raise participants.{speaker}.sampling.max_tokens"
    if completion.finish_reason == "content_filter":
        return "its endpoint withheld the message, or a part of it (content_filter)"
    return "its message was cut, for the context of its model is full"


def _why_empty(completion: Completion) -> str:
    """Returns why a message in a full context is empty: its prompt was too long for a token more. "" if that isn't
    known.
    """
    tokens = completion.prompt_tokens
    return f"the prompt has {tokens} tokens, and leaves no room in the model's context" if tokens else ""
