"""An episode being played has the session's state and the commands that drive it.

A session is driven by commands (`turn`, `step`, `tell`, `call`). The environment's `run` is one driver of them. Every
command records what happened, keeps the limits and asks the environment whether it is over; a command after the end
raises `EpisodeOver`, so no model is ever called after it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from ray_gym.episode import limits
from ray_gym.episode.blame import blame_simulator, fault_of, is_policy
from ray_gym.episode.participant import Participant
from ray_gym.episode.thread import Asked, Thread
from ray_gym.episode.turn import Turn
from ray_gym.episode.view import EpisodeView
from ray_gym.episode.wording import has_words
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.events import EventKind
from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import Completion
from ray_gym.openai_api.conversation import policy_view, user_view
from ray_gym.stop import EpisodeOver, StopReason
from ray_gym.task import Opening
from ray_gym.tools.answer import ToolAnswer, WhenLost
from ray_gym.tools.calling import call_tool
from ray_gym.tools.library import IsolatedResult
from ray_gym.tools.tool import Tool

Result = TypeVar("Result")


class Episode(EpisodeView):
    """Is the author's view of the session being played, with the commands on it."""

    # ---- commands ----

    def bring_tools(self, tools: Iterable[Tool]) -> None:
        """Adds the tools of the task. Errors: ValueError if two tools have the same name."""
        for tool in tools:
            if tool.schema.name in self.tools:
                raise ValueError(f"there are two tools with the name {tool.schema.name!r}")
            self.tools[tool.schema.name] = tool
        self._shown.clear()

    def begin(self, opening: Opening) -> None:
        """Gives every thread its system prompt and first messages."""
        for name in [*opening.messages, *opening.system, opening.first]:
            if name not in (self.participants if name in opening.system else self.threads):
                raise ValueError(f"opening() names participant {name!r}, which this run does not have")
        self.first = opening.first
        self.transcript.opening_prompts = opening.system
        earlier = self._earlier_messages()
        if earlier:
            self.first = self._who_answers(earlier["policy"][-1])
        for name in list(self.threads):
            self.transcript.put_system_prompt(name)
            for message in _first_messages(opening, name, earlier.get(name), self.environment.opening_observes):
                self.transcript.put(name, "opening", message)
        self.end_if_finished()

    async def turn(self, name: str, max_steps: int | None = None) -> Turn:
        """Lets one participant speak: it takes steps until it calls no more tools, its steps (or `max_steps`) are used
        up, or the episode ends.
        """
        self._require_open()
        participant = self.participants[name]
        turn = Turn(name, len(self.turns))
        if self._turns_are_used_up(name):
            return turn
        thread = self.threads[name]
        if self.turns and not thread.has_something_to_answer:
            self._blame_silence(self.turns[-1])
        if not thread.has_something_to_answer and (self.turns or not thread.has_only_a_system_prompt):
            self.end(StopReason.NOTHING_SAID, f"there is nothing that {name} could answer")
            return turn
        self.turns.append(turn)
        while turn.steps < min(participant.max_steps_per_turn, max_steps or participant.max_steps_per_turn):
            called_tools = await self.step(turn)
            if self.stopped or not called_tools:
                break
        if not self.stopped:
            self._relay(turn)
            self.end_if_finished()
        return turn

    def open_turn(self, name: str) -> Turn | None:
        """Returns the turn of a participant that is driven from outside: its open turn, or a new one; None if its turns
        are used up.
        """
        self._require_open()
        last = self.turns[-1] if self.turns else None
        if last is not None and last.speaker == name and not last.yielded:
            return last
        if self._turns_are_used_up(name):
            return None
        self.turns.append(Turn(name, len(self.turns)))
        return self.turns[-1]

    def steps_left(self, name: str) -> int:
        """Returns how many steps a participant that is driven from outside has left, in its open turn or in the one
        that it would begin.
        """
        last = self.turns[-1] if self.turns else None
        is_its_turn = last is not None and last.speaker == name and not last.yielded
        return self.participants[name].max_steps_per_turn - (last.steps if last and is_its_turn else 0)

    def yield_floor(self, turn: Turn, said: Message) -> None:
        """Ends a turn from outside with the words `said`: looks whether the episode is over, and tells the others."""
        turn.yielded = True
        self._check_over(turn.speaker, said)
        if not self.stopped:
            self._relay(turn)
            self.end_if_finished()

    async def step(self, turn: Turn) -> bool:
        """Makes one model call and the tool calls that it asked for. Returns whether there were any."""
        self._require_open()
        began, live = time.monotonic(), self.calls.live
        called_tools = await self._step(turn)
        if self.calls.live > live:
            self._metrics.step(turn.speaker, time.monotonic() - began)
        return called_tools

    async def _step(self, turn: Turn) -> bool:
        self.transcript.step = turn.steps
        turn.steps += 1
        participant = self.participants[turn.speaker]
        completion = await self._complete(
            self.threads[turn.speaker], Asked.by(participant, *self.tools_of(participant))
        )
        if completion is None:
            return False
        message = completion.message
        turn.text = message.content
        if completion.finish_reason != "stop":
            self._end_truncated(turn.speaker, completion)
            return False
        for call in message.tool_calls:
            answer = await self.call(turn.speaker, call)
            turn.tool_results.append(answer.content)
            turn.tool_errors += answer.error is not None
            if self.end_if_finished():
                return True
        self._check_over(turn.speaker, message)
        return bool(message.tool_calls)

    async def call(self, name: str, call: ToolCall, tells: bool = True) -> ToolAnswer:
        """Carries out a tool call of a participant. The result joins that participant's thread, unless `tells` is off
        and the caller sees to that.
        """
        self._require_open()
        participant = self.participants[name]
        began, started_at = time.monotonic(), time.time()
        answer = await self._answer_of_tool(participant, call)
        duration = time.monotonic() - began
        self.usage.tool_calls += 1
        self.usage.tool_s += duration
        self.usage.tool_errors += answer.error is not None
        if tells:
            event = self.transcript.put(name, "tool_result", Message("tool", answer.content, tool_call_id=call.id))
        else:
            event = self.transcript.write("tool_call", participant=name, content=answer.content, tool_calls=(call,))
        event.error = answer.error
        event.started_at, event.duration_s = started_at, duration
        return answer

    def tell(self, name: str, text: str, spoken_by: str | None = None) -> None:
        """Puts a message into the view of a participant, or of one of its threads (role user)."""
        self._require_open()
        self.transcript.put(name, "relay", Message("user", text)).participant = spoken_by

    def speak(self, name: str, said: Message) -> None:
        """Puts words into a participant's own thread that its model was not asked for, beside the tools that it has
        been offered.
        """
        self.transcript.put(name, "message", said)
        self.threads[name].show(self._tools_shown_to(self.participants[name]))

    def open_thread(self, participant: str) -> str:
        """Opens another conversation of a participant with its model, beside its own: for drafts, sub-agents, best of
        n. Returns the thread's name.

        The thread begins with the participant's system prompt; `tell` puts messages into it, `reply` has the model
        answer. Threads may be used at the same time (`asyncio.gather`), each for one call at a time.
        """
        self._require_open()
        return self.transcript.open_thread(participant)

    async def reply(self, thread: str) -> Message:
        """Makes one model call over all that is in a thread; its tool calls, if any, are not carried out.

        Errors: EpisodeOver if the episode has ended, also by this call (its answer was cut, or a budget is used up).
        """
        self._require_open()
        completion = await self.complete_thread(thread, Asked.by(self.threads[thread].participant, (), ()))
        self._require_open()
        assert completion is not None
        return completion.message

    async def complete_thread(self, thread: str, asked: Asked) -> Completion | None:
        """Makes one model call over all that is in a thread. An answer that was cut ends the episode; None means that a
        limit ended it before the call.
        """
        completion = await self._complete(self.threads[thread], asked)
        if completion is not None and completion.finish_reason != "stop":
            self._end_truncated(self.threads[thread].participant.name, completion)
        return completion

    async def ask(self, auxiliary: str, *messages: str | Message, may_be_cut: bool = False) -> Message:
        """Asks a judge, a reward model or a simulator, in a fresh conversation with its system prompt and these
        messages.

        Works after the end too, from `score`. An error is the judge's fault (while scoring) or the simulator's, never
        the policy's. So is an answer that a limit has cut, unless it `may_be_cut`: then it is returned as far as it
        goes. Errors: EpisodeFailure; ValueError for a name that is not in the environment's `auxiliary`; EpisodeOver if
        the episode has ended and is not being scored.
        """
        completion = await self.consult(auxiliary, *messages)
        if completion.finish_reason != "stop" and not may_be_cut:
            asked = self.participants[auxiliary]
            raise fault_of(asked, f"its answer was cut ({completion.finish_reason})", judges=self.scoring)
        return completion.message

    async def consult(self, auxiliary: str, *messages: str | Message) -> Completion:
        """Asks as `ask` does, and returns how the answer ended too: for callers that can use an answer that was cut, or
        that the context had no room for.
        """
        if not self.scoring:
            self._require_open()
        if auxiliary not in self.environment.auxiliary:
            raise ValueError(f"ask: {auxiliary!r} is not in {type(self.environment).__name__}.auxiliary")
        name = self.transcript.open_thread(auxiliary)
        for message in messages:
            self.transcript.put(name, "judge", Message("user", message) if isinstance(message, str) else message)
        self.asking[name] = self.participants[auxiliary]
        try:
            completion = await self._complete(
                self.threads[name], Asked.by(self.participants[auxiliary], (), ()), "judge"
            )
        finally:
            if not self.clock.is_late:
                self.asking.pop(name, None)
        assert completion is not None
        return completion

    async def effect(
        self,
        name: str,
        make: Callable[[str], Awaitable[Any]],
        arguments: Any = None,
        when_lost: WhenLost = "retry",
    ) -> Any:
        """Does something outside of the session that must not be done again when the episode is resumed elsewhere.

        `make` is awaited with an idempotency key that is the same in every attempt; its result (JSON data) is recorded,
        and returned again in a replay. If a worker dies between, the effect is made again with the same key, or fails
        the episode (`when_lost`).
        """
        return await self.calls.effect(name, arguments, make, when_lost)

    async def isolated(
        self, function: str, *arguments: Any, deadline_s: float, memory_mb: int | None = None
    ) -> IsolatedResult:
        """Calls a function (package.module:name; JSON data in and out) in a process of its own, which is killed at its
        deadline.

        Its result is recorded, and returned again in a replay. Errors: EpisodeFailure (environment) if there is no such
        function.
        """
        given = json.dumps(arguments)  # the journal takes text of any kind, but no integer of more than 64 bits

        async def call(key: str) -> tuple[str, str | None]:
            return await self._tool_runner.libraries.call(function, given, deadline_s, memory_mb)

        text, error = await self.effect(function, call, given)
        return IsolatedResult(json.loads(text), error)

    async def in_thread(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Calls a function that would hold up the event loop, in a thread, within `tool_deadline_s` seconds. It works
        on the state, so a replay calls it again.

        Errors: whatever it raises; TimeoutError; EpisodeFailure (infra) when this worker has no threads left.
        """
        name, pool = getattr(function, "__name__", "call"), self._tool_runner.blocking
        call = partial(pool.run, name, partial(function, *arguments), self.limits.tool_deadline_s)
        return await self.calls.in_order(f"thread {name}", call)

    # ---- the machinery of a step ----

    def _earlier_messages(self) -> dict[str, list[Message]]:
        """Returns the messages that the task's row begins with, by participant, as each of them saw them. With more
        than two participants, only the policy's view is known.
        """
        said = policy_view(self.task.messages)
        if not said:
            return {}
        others = [name for name in self.threads if name != "policy"]
        return {"policy": said} | ({others[0]: user_view(self.task.messages)} if len(others) == 1 else {})

    def _who_answers(self, last: Message) -> str:
        """Returns the participant that answers the last message of a task's row. Errors: EpisodeFailure (data) if
        nobody could.
        """
        if last.role != "assistant":
            return "policy"
        others = [name for name in self.environment.participants if name != "policy"]
        if not others:
            raise EpisodeFailure(
                FailureKind.DATA, "task.messages", "the policy spoke last, and nobody else could answer"
            )
        return others[0]

    async def _complete(self, thread: Thread, asked: Asked, kind: EventKind = "message") -> Completion | None:
        """Makes a model call, within all limits; returns None when one of them ended the episode instead."""
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
        self._now = answered.started_at + answered.duration_s
        return answered.completion

    async def _answer_of_tool(self, caller: Participant, call: ToolCall) -> ToolAnswer:
        """Answers a tool call. A tool with an effect outside of the session is called once, whatever dies; its answer
        is recorded.
        """

        async def carry_out(key: str = "") -> ToolAnswer:
            limit, runner = self.limits.tool_deadline_s, self._tool_runner
            return await call_tool(self.environment, self.tools, self.state, caller, call, limit, runner, key)

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

    def _is_used_up(self) -> bool:
        """Says whether a limit leaves nothing for another call; then the episode has ended."""
        if (stop := limits.reached_limit(self)) is not None:
            self.end(stop.reason, stop.text)
        return self.stopped

    def _judges(self, participant: Participant) -> bool:
        return self.scoring and participant.name in self.environment.auxiliary

    def _blame_silence(self, turn: Turn) -> None:
        """Fails the episode if a simulated user says nothing and its tools are told to nobody: that does not end the
        policy's episode.
        """
        speaker = self.participants[turn.speaker]
        if not is_policy(speaker) and not turn.text:
            silent = "it used its tools, and said nothing" if turn.tool_results else "it said nothing"
            raise fault_of(speaker, silent, judges=False)

    def tools_of(self, participant: Participant) -> tuple[tuple[ToolSchema, ...], tuple[ToolSchema, ...]]:
        """Returns the tools as the prompt shows them, and as the state narrows them now."""
        shown = self._tools_shown_to(participant)
        if not shown or not self.environment.narrows():
            return shown, shown
        return shown, tuple([self.environment.narrow(schema, self.state, participant) for schema in shown])

    def _tools_shown_to(self, participant: Participant) -> tuple[ToolSchema, ...]:
        if participant.tool_choice == "none":
            return ()
        shown = self._shown.get(participant.name)
        if shown is None:
            shown = tuple(tool.schema for tool in self.tools.values() if tool.offered_to(participant.name))
            self._shown[participant.name] = shown
        return shown

    def _remaining_tokens(self) -> int:
        budget = self.limits.token_budget
        return budget - self.usage.budgeted_tokens if budget is not None else 2**31 - 1

    def _end_truncated(self, speaker: str, completion: Completion) -> None:
        text = completion.message.content
        if self._remaining_tokens() <= 0:
            self.end(StopReason.TOKEN_BUDGET, text)
        elif not is_policy(self.participants[speaker]):
            cut = f"its message was cut ({completion.finish_reason}): {text[-200:]}"
            raise fault_of(self.participants[speaker], cut, judges=False)
        elif completion.finish_reason == "context_full":
            self.end(StopReason.CONTEXT_FULL, text)
        else:
            self.end(StopReason.MAX_TOKENS, text)

    def _turns_are_used_up(self, name: str) -> bool:
        if self.turns_of(name) < self.participants[name].max_turns:
            return False
        self.end(StopReason.MAX_TURNS, name)
        return True

    def end_if_finished(self) -> bool:
        """Asks the environment whether the episode is over, and ends it if so."""
        outcome = self.environment.finished(self.state, self)
        if outcome is not None:
            self.end(StopReason.FINISHED, str(outcome))
        return outcome is not None

    def _check_over(self, speaker: str, message: Message) -> None:
        if not message.tool_calls and self.end_if_finished():
            return
        stop_text = self.participants[speaker].stop_text
        if stop_text and has_words(message.content, stop_text):
            self.end(StopReason.STOP_TEXT, message.content)

    def _relay(self, turn: Turn) -> None:
        """Tells every participant what the environment lets it know of a turn that has ended."""
        for name in self.environment.participants:
            listener = self.participants[name]
            text = self.environment.relay(self.state, self, turn, listener)
            if text is None:
                continue
            said = self.transcript.last_message()
            if said is not None and said.content == text and listener.name != turn.speaker:
                said.visible_to.append(listener.name)
                self.threads[listener.name].append(Message("user", text), said.seq)
            else:
                self.tell(listener.name, text, spoken_by=turn.speaker)

    def _require_open(self) -> None:
        if self.stop is not None:
            raise EpisodeOver(self.stop.reason)


def _first_messages(opening: Opening, name: str, earlier: Sequence[Message] | None, observes: bool) -> list[Message]:
    """Returns the first messages of a participant's thread.

    The policy's opening stands in for a conversation that was begun elsewhere, so with earlier messages it is left out;
    others are told more in theirs, a goal perhaps.
    """
    given = opening.messages.get(name, [])
    told = [Message("user", given)] if isinstance(given, str) else list(given)
    if observes:
        return [*(earlier or []), *told]
    return [*(told if name != "policy" or not earlier else []), *(earlier or [])]
