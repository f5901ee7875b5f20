"""An episode being played: the session's state and the commands that drive it.

A session is driven by commands (`turn`, `step`, `tell`, `call`). The environment's `run` is one driver of them. Every
command records what happened, keeps the limits and asks the environment whether it is over; a command after the end
raises `EpisodeOver`, so no model is ever called after it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ray_gym.config import LimitsSection
from ray_gym.environment import Environment, Opening, Task
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.events import Event, EventKind
from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import Completion, Model
from ray_gym.participant import Participant
from ray_gym.seeds import derive_seed, stable_id
from ray_gym.stop import EpisodeOver, Stop, StopReason
from ray_gym.thread import Thread
from ray_gym.tool_runner import ToolRunner
from ray_gym.tools import ToolAnswer, call_tool


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """What fully determines an episode beside the config. `task` is a validated row as JSON."""

    episode_id: str
    group_id: str
    task_id: str
    repeat: int
    seed: int
    task: str
    try_: int = 0
    attempt: int = 0


@dataclass(slots=True)
class Turn:
    """One participant speaking until it yields the floor. `text` is what it said last; `tool_results` what its tools answered."""

    speaker: str
    index: int
    text: str = ""
    tool_results: list[str] = field(default_factory=list)
    tool_errors: int = 0
    steps: int = 0


@dataclass(slots=True)
class Usage:
    prompt_tokens: int = 0
    generated_tokens: int = 0
    cached_tokens: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    model_s: float = 0.0
    tool_s: float = 0.0


class Episode:
    """The author's view of the session being played, and the commands on it."""

    def __init__(
        self,
        spec: EpisodeSpec,
        environment: Environment[Any, Any],
        task: Task,
        participants: Mapping[str, Participant],
        models: Mapping[str, Model],
        limits: LimitsSection,
        tool_runner: ToolRunner | None = None,
    ) -> None:
        self.spec = spec
        self.environment = environment
        self.task: Any = task
        self.state: Any = None
        self.participants = dict(participants)
        self.limits = limits
        self._tool_runner = tool_runner or ToolRunner()
        self.events: list[Event] = []
        self.turns: list[Turn] = []
        self.usage = Usage()
        self.first = "policy"
        self.stop: Stop | None = None
        self.started_at = time.time()
        self._began = time.monotonic()
        self._rngs: dict[str, random.Random] = {}
        self._ids = 0
        self._step = 0
        self.threads = {
            name: Thread(
                name, participant, models[participant.model], spec.episode_id, derive_seed(spec.seed, spec.try_)
            )
            for name, participant in self.participants.items()
        }

    # ---- what an author may ask ----

    @property
    def stopped(self) -> bool:
        return self.stop is not None

    def rng(self, name: str) -> random.Random:
        """The episode's own random numbers: the same name gives the same stream every time this try is played."""
        if name not in self._rngs:
            self._rngs[name] = random.Random(derive_seed(self.spec.seed, self.spec.try_, "rng", name))
        return self._rngs[name]

    def new_id(self) -> str:
        """A fresh id, the same every time this try is played."""
        self._ids += 1
        return stable_id(self.spec.seed, self.spec.try_, "id", self._ids)

    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def turns_of(self, participant: str) -> int:
        return sum(turn.speaker == participant for turn in self.turns)

    # ---- commands ----

    def begin(self, opening: Opening) -> None:
        """Give every thread its system prompt and first messages."""
        unknown = [*opening.messages, *opening.system, opening.first]
        for name in unknown:
            if name not in self.participants:
                raise ValueError(f"opening() names participant {name!r}, which this run does not have")
        self.first = opening.first
        for name, participant in self.participants.items():
            chosen = self.task.system_prompts.get(name) or participant.system_prompt or opening.system.get(name)
            if chosen:
                self._put(name, "system", Message("system", chosen))
            first = opening.messages.get(name, [])
            for message in [Message("user", first)] if isinstance(first, str) else first:
                self._put(name, "opening", message)
        self._is_finished()

    async def turn(self, name: str) -> Turn:
        """Let one participant speak: steps until it calls no more tools, its steps are used up, or the episode ends."""
        self._require_open()
        participant = self.participants[name]
        turn = Turn(name, len(self.turns))
        if self.turns_of(name) >= participant.max_turns:
            self.end(StopReason.MAX_TURNS, name)
            return turn
        thread = self.threads[name]
        if not thread.has_something_to_answer and (self.turns or not thread.has_only_a_system_prompt):
            self.end(StopReason.NOTHING_SAID, f"there is nothing that {name} could answer")
            return turn
        self.turns.append(turn)
        while turn.steps < participant.max_steps_per_turn:
            called_tools = await self.step(turn)
            if self.stopped or not called_tools:
                break
        if not self.stopped:
            self._relay(turn)
            self._is_finished()
        return turn

    async def step(self, turn: Turn) -> bool:
        """One model call and the tool calls that it made. Returns whether there were any."""
        self._require_open()
        self._step = turn.steps
        turn.steps += 1
        completion = await self._complete(self.threads[turn.speaker])
        if completion is None:
            return False
        message = completion.message
        turn.text = message.content
        if completion.finish_reason != "stop":
            self._end_truncated(completion)
            return False
        for call in message.tool_calls:
            answer = await self.call(turn.speaker, call)
            turn.tool_results.append(answer.content)
            turn.tool_errors += answer.error is not None
            if self._is_finished():
                return True
        self._check_over(turn.speaker, message)
        return bool(message.tool_calls)

    async def call(self, name: str, call: ToolCall) -> ToolAnswer:
        """Carry out a tool call of a participant; its result joins that participant's thread."""
        self._require_open()
        participant = self.participants[name]
        tools = self.environment.tools
        began, started_at = time.monotonic(), time.time()
        deadline_s, runner = self.limits.tool_deadline_s, self._tool_runner
        answer = await call_tool(self.environment, tools, self.state, participant, call, deadline_s, runner)
        duration = time.monotonic() - began
        self.usage.tool_calls += 1
        self.usage.tool_s += duration
        self.usage.tool_errors += answer.error is not None
        event = self._put(name, "tool_result", Message("tool", answer.content, tool_call_id=call.id))
        event.error = answer.error
        event.started_at, event.duration_s = started_at, duration
        return answer

    def tell(self, name: str, text: str, spoken_by: str | None = None) -> None:
        """Put a message into a participant's view (role user)."""
        self._require_open()
        self._put(name, "relay", Message("user", text)).participant = spoken_by

    def note(self, text: str) -> None:
        """Write a remark into the record; nobody sees it."""
        self._event("note", content=text)

    def end(self, reason: StopReason, text: str = "") -> None:
        """End the episode; the first reason counts."""
        if self.stop is None:
            self.stop = Stop(reason, text)
            self._event("stop", content=text, finish_reason=reason.value)

    # ---- the machinery of a step ----

    async def _complete(self, thread: Thread) -> Completion | None:
        """The model call of a step, within all limits; None when one of them ended the episode instead."""
        remaining_tokens = self._remaining_tokens()
        remaining_s = self.limits.episode_deadline_s - self.elapsed_s()
        if remaining_tokens <= 0:
            self.end(StopReason.TOKEN_BUDGET, f"{self.usage.generated_tokens} tokens generated")
            return None
        if remaining_s <= 0:
            self._end_at_deadline()
            return None
        participant = thread.participant
        tools, allowed = self._tools_for(participant)
        began, started_at = time.monotonic(), time.time()
        try:
            async with asyncio.timeout(min(remaining_s, self.limits.call_deadline_s)):
                completion = await thread.complete(tools, allowed, remaining_tokens)
        except TimeoutError as error:
            if self.elapsed_s() >= self.limits.episode_deadline_s:
                self._end_at_deadline()
                return None
            message = f"no answer within call_deadline_s ({self.limits.call_deadline_s:g} s)"
            raise EpisodeFailure(FailureKind.INFRA, f"model {participant.model}", message) from error
        duration = time.monotonic() - began
        event = self._event(
            "message",
            participant=participant.name,
            thread=thread.name,
            role="assistant",
            content=completion.message.content,
            reasoning=completion.message.reasoning,
            tool_calls=completion.message.tool_calls,
            visible_to=[participant.name],
            finish_reason=completion.finish_reason,
            model=participant.model,
            started_at=started_at,
            duration_s=duration,
        )
        thread.accept(completion, event.seq)
        self._count(completion, duration)
        return completion

    def _end_at_deadline(self) -> None:
        self.end(StopReason.DEADLINE, f"{self.limits.episode_deadline_s:g} s")

    def _tools_for(self, participant: Participant) -> tuple[tuple[ToolSchema, ...], tuple[ToolSchema, ...]]:
        """The tools as the prompt shows them, and as the state narrows them now."""
        if participant.tool_choice == "none":
            return (), ()
        environment = self.environment
        shown = tuple(tool.schema for tool in environment.tools.values() if tool.offered_to(participant.name))
        return shown, tuple(environment.narrow(schema, self.state, participant) for schema in shown)

    def _remaining_tokens(self) -> int:
        budget = self.limits.token_budget
        return budget - self.usage.generated_tokens if budget is not None else 2**31 - 1

    def _count(self, completion: Completion, duration: float) -> None:
        usage = self.usage
        usage.model_calls += 1
        usage.prompt_tokens += completion.prompt_tokens
        usage.generated_tokens += completion.generated_tokens
        usage.cached_tokens += completion.cached_tokens
        usage.model_s += duration

    def _end_truncated(self, completion: Completion) -> None:
        text = completion.message.content
        if completion.finish_reason == "context_full":
            self.end(StopReason.CONTEXT_FULL, text)
        elif self._remaining_tokens() <= 0:
            self.end(StopReason.TOKEN_BUDGET, text)
        else:
            self.end(StopReason.MAX_TOKENS, text)

    def _is_finished(self) -> bool:
        outcome = self.environment.finished(self.state, self)
        if outcome is not None:
            self.end(StopReason.FINISHED, str(outcome))
        return outcome is not None

    def _check_over(self, speaker: str, message: Message) -> None:
        if not message.tool_calls and self._is_finished():
            return
        stop_text = self.participants[speaker].stop_text
        if stop_text and stop_text in message.content:
            self.end(StopReason.STOP_TEXT, message.content)

    def _relay(self, turn: Turn) -> None:
        """Tell everyone what the environment lets them know of a turn that has ended."""
        for listener in self.participants.values():
            text = self.environment.relay(self.state, self, turn, listener)
            if text is None:
                continue
            said = next((event for event in reversed(self.events) if event.kind == "message"), None)
            if said is not None and said.content == text and listener.name != turn.speaker:
                said.visible_to.append(listener.name)
                self.threads[listener.name].append(Message("user", text), said.seq)
            else:
                self.tell(listener.name, text, spoken_by=turn.speaker)

    def _put(self, name: str, kind: EventKind, message: Message) -> Event:
        event = self._event(
            kind,
            participant=name,
            thread=name,
            role=message.role,
            content=message.content,
            reasoning=message.reasoning,
            tool_calls=message.tool_calls,
            tool_call_id=message.tool_call_id,
            visible_to=[name],
        )
        self.threads[name].append(message, event.seq)
        return event

    def _event(self, kind: EventKind, *, started_at: float = 0.0, **fields: Any) -> Event:
        content = fields.get("content", "")
        if not isinstance(content, str):
            raise TypeError(f"{kind}: expected text, got {type(content).__name__}")
        turn = len(self.turns) - 1
        event = Event(len(self.events), kind, turn, self._step, started_at=started_at or time.time(), **fields)
        self.events.append(event)
        return event

    def _require_open(self) -> None:
        if self.stop is not None:
            raise EpisodeOver(self.stop.reason)
