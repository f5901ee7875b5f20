"""Defines an episode while it is played: its state, and the commands that drive it (`turn`, `step`, `tell`, `call`).

The environment's `run` gives these commands, or a caller from outside. Every command records what happened and keeps
the limits, and the environment is asked whether the episode is over. After the end, commands raise `EpisodeOver`: no
model is called any more, except for judges while the episode is scored.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from ray_gym.episode.awaiting import command
from ray_gym.episode.blame import fault_of, is_policy
from ray_gym.episode.bounded import BoundedEpisode
from ray_gym.episode.opening_messages import earlier_messages, first_messages, next_to_answer
from ray_gym.episode.participant import require_participant
from ray_gym.episode.rules import Rules
from ray_gym.episode.thread import Asked
from ray_gym.episode.turn import Turn
from ray_gym.errors import fault_of_hook, wrong_return
from ray_gym.messages import Message, ToolCall, is_blank
from ray_gym.models.base import Completion
from ray_gym.stop import StopReason
from ray_gym.task import Opening
from ray_gym.tools.answer import ToolAnswer
from ray_gym.tools.tool import Tool


class Episode(BoundedEpisode):
    """Represents an episode while it is played: environments and graders read it, and drive it by its commands."""

    # ---- commands ----

    def bring_tools(self, tools: Iterable[Tool]) -> None:
        """Adds the tools of the task. Errors: ValueError if two tools have the same name."""
        for tool in tools:
            if tool.schema.name in self.tools:
                raise ValueError(f"there are two tools with the name {tool.schema.name!r}")
            self.tools[tool.schema.name] = tool
        self._shown.clear()

    def begin(self, opening: Opening) -> None:
        """Gives every thread its system prompt and first messages, and asks the environment whether the episode is
        over.

        Errors: ValueError if the opening names an unknown participant; EpisodeFailure (data) if nobody could answer the
        task's messages.
        """
        _require_opening(self.environment, opening)
        for name in [*opening.messages, *opening.system, opening.first]:
            if name not in (self.participants if name in opening.system else self.threads):
                raise ValueError(f"opening() names participant {name!r}, which this run does not have")
        self.first = opening.first
        self.transcript.opening_prompts = opening.system
        earlier = earlier_messages(self.task.messages, self.threads)
        if earlier:
            self.first = next_to_answer(earlier["policy"][-1], self.environment.participants)
        for name in list(self.threads):
            self.transcript.put_system_prompt(name)
            for message in first_messages(opening, name, earlier.get(name), self.environment.opening_observes):
                self.transcript.put(name, "opening", message)
        self.end_if_finished()

    @command
    async def turn(self, name: str, max_steps: int | None = None) -> Turn:
        """Lets one participant speak, and returns its turn.

        The participant takes steps until it calls no more tools, its steps (or `max_steps`) are used up, or the episode
        ends. Then the others are told of the turn, unless the episode has ended. If the participant has no turns left,
        or nothing to answer, the episode ends, and the turn is empty. Errors: EpisodeOver if the episode has ended
        before; EpisodeFailure if it fails, also because a simulated user said nothing, or the environment tells nobody
        anything.
        """
        self._require_open()
        self._require_speaker(name, "turn")
        participant = self.participants[name]
        name = participant.name
        turn = Turn(name, len(self.turns), most_steps=max_steps)
        if self._turns_are_used_up(name):
            return turn
        thread = self.threads[name]
        if self.turns and not thread.has_something_to_answer:
            self._blame_silence(self.turns[-1])
        if not thread.has_something_to_answer and (self.turns or not thread.has_only_a_system_prompt):
            self._require_asked(name)
            self.end(StopReason.NOTHING_SAID, f"there is nothing that {name} could answer")
            return turn
        self.turns.append(turn)
        if participant.is_agent:
            await self._let_agent_speak(turn)
        else:
            await self._take_steps(turn, self._most_steps(turn))
        if not self.stopped:
            self._relay(turn)
            self.end_if_finished()
        return turn

    async def _take_steps(self, turn: Turn, most: int) -> None:
        """Has a participant take at most so many steps, until it calls no more tools."""
        while turn.steps < most:
            called_tools = await self.step(turn)
            if self.stopped or not called_tools:
                break

    async def _let_agent_speak(self, turn: Turn) -> None:
        """Has a program take a turn, and asks whether the episode is over by its last words. Errors: EpisodeFailure."""
        assert self._agents is not None, "the stage has no programs"
        await self._agents.take_turn(self, turn)
        if not self.stopped:
            self._check_over(turn.speaker, Message("assistant", turn.text))

    def open_turn(self, name: str) -> Turn | None:
        """Returns the open turn of a participant that is driven from outside, or begins a new one. Returns None if all
        its turns are used up, which ends the episode. Errors: EpisodeOver if the episode has ended.
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
        """Returns how many steps a participant that is driven from outside has left in its open turn; all of a turn's
        steps if no turn is open.
        """
        last = self.turns[-1] if self.turns else None
        is_its_turn = last is not None and last.speaker == name and not last.yielded
        return (
            self._most_steps(last) - last.steps if last and is_its_turn else self.participants[name].max_steps_per_turn
        )

    def _most_steps(self, turn: Turn) -> int:
        most = self.participants[turn.speaker].max_steps_per_turn
        return min(most, turn.most_steps or most)

    def yield_floor(self, turn: Turn, said: Message) -> None:
        """Ends a turn that is driven from outside; `said` is its last message.

        Checks whether the episode is over, and if not, tells the other participants of the turn.
        """
        turn.yielded = True
        self._check_over(turn.speaker, said)
        if not self.stopped:
            self._relay(turn)
            self.end_if_finished()

    @command
    async def step(self, turn: Turn) -> bool:
        """Makes one model call, and carries out the tool calls in its answer.

        Returns True if there were any; False also if a limit ended the episode before the call, or cut the answer.
        Errors: EpisodeOver if the episode has ended; EpisodeFailure if it fails.
        """
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
        turn.add_words(message.content)
        if completion.finish_reason != "stop":
            self._end_truncated(turn.speaker, completion)
            return False
        for call in message.tool_calls:
            answer = await self.call(turn.speaker, call)
            turn.add_answer(call.name, answer)
            if self.end_if_finished():
                return True
        self._check_over(turn.speaker, message)
        return bool(message.tool_calls)

    @command
    async def call(self, name: str, call: ToolCall, tells: bool = True) -> ToolAnswer:
        """Carries out a tool call of a participant, and returns the answer.

        The answer joins that participant's thread, unless `tells` is False: then the caller puts it there. Errors:
        EpisodeOver if the episode has ended; EpisodeFailure if the tool fails by the environment's fault.
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
        """Puts a user message into a thread. `name` is a participant, which stands for its own thread, or the name of a
        thread.

        `spoken_by`: the participant whom the record names as the speaker; None: nobody. Errors: EpisodeOver if the
        episode has ended; ValueError for an unknown thread; TypeError if `text` is no text.
        """
        self._require_open()
        self._require_thread(name, "tell")
        if not isinstance(text, str):
            raise TypeError(f"tell: expected text, got {type(text).__name__}")
        self.transcript.put(name, "relay", Message("user", text)).participant = spoken_by

    def speak(self, name: str, said: Message) -> None:
        """Puts a message into a participant's own thread as the participant's words, without a model call."""
        self.transcript.put(name, "message", said)
        self.threads[name].show(self._tools_shown_to(self.participants[name]))

    def open_thread(self, participant: str) -> str:
        """Opens another conversation of a participant with its model (for drafts, sub-agents, best of n), and returns
        its name.

        The thread begins with the participant's system prompt; `tell` puts messages into it, `reply` has the model
        answer. Threads may be used at the same time (`asyncio.gather`), each for one call at a time. Errors:
        EpisodeOver if the episode has ended; ValueError for an unknown participant.
        """
        self._require_open()
        require_participant(participant, self.participants, "open_thread")
        return self.transcript.open_thread(participant)

    @command
    async def reply(self, thread: str) -> Message:
        """Makes one model call over all messages of a thread, and returns the answer. Its tool calls, if any, are not
        carried out.

        Errors: EpisodeOver if the episode has ended, also by this call (its answer was cut, or a budget is used up);
        EpisodeFailure; ValueError for an unknown thread.
        """
        self._require_open()
        self._require_thread(thread, "reply")
        completion = await self.complete_thread(thread, Asked.by(self.threads[thread].participant, (), ()))
        self._require_open()
        assert completion is not None
        return completion.message

    async def complete_thread(self, thread: str, asked: Asked) -> Completion | None:
        """Makes one model call over all messages of a thread, and returns the completion.

        None means that a limit ended the episode before the call. An answer that was cut ends the episode too. Errors:
        EpisodeFailure, also for a simulator's answer that was cut.
        """
        completion = await self._complete(self.threads[thread], asked)
        if completion is not None and completion.finish_reason != "stop":
            self._end_truncated(self.threads[thread].participant.name, completion)
        return completion

    @command
    async def ask(self, auxiliary: str, *messages: str | Message, may_be_cut: bool = False) -> Message:
        """Asks a judge, a reward model or a simulator, in a fresh conversation with its system prompt and these
        messages.

        It may be used after the end too, from `score`. An error is the judge's fault (while scoring) or the
        simulator's, never the policy's. An answer that a limit has cut is such an error, unless `may_be_cut` is True:
        then it is returned as far as it goes. Errors: EpisodeFailure; ValueError for a name that is not in the
        environment's `auxiliary`; EpisodeOver if the episode has ended and is not being scored.
        """
        completion = await self.consult(auxiliary, *messages)
        if completion.finish_reason != "stop" and not may_be_cut:
            asked = self.participants[auxiliary]
            raise fault_of(asked, f"its answer was cut ({completion.finish_reason})", judges=self.scoring)
        return completion.message

    @command
    async def consult(self, auxiliary: str, *messages: str | Message) -> Completion:
        """Asks a judge, a reward model or a simulator in a fresh conversation, and returns the whole completion, also
        if its answer was cut or did not fit into the context.

        Errors: EpisodeFailure; ValueError for a name that is not in the environment's `auxiliary`; EpisodeOver if the
        episode has ended and is not being scored.
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

    def _require_thread(self, name: str, asked: str) -> None:
        """Checks that there is a thread of a name. `asked`: the command that was given it. Errors: ValueError."""
        if name not in self.threads:
            raise ValueError(f"{asked}: there is no thread {name!r}; there are: {', '.join(self.threads)}")

    # ---- between turns ----

    def _blame_silence(self, turn: Turn) -> None:
        """Checks that a simulated user said something to the policy in its turn, since the policy's episode must not
        end by its silence.

        Errors: EpisodeFailure if it said nothing.
        """
        speaker = self.participants[turn.speaker]
        if not is_policy(speaker) and not turn.text:
            silent = "it used its tools, and said nothing" if turn.tool_results else "it said nothing"
            raise fault_of(speaker, silent, judges=False)

    def _require_asked(self, name: str) -> None:
        """Checks that a participant which is trained, or the policy, has had a turn, before the episode ends as `name` has
        nothing to answer. Else nobody's silence is scored, but that of the environment. Errors: EpisodeFailure.
        """
        if any(is_policy(self.participants[turn.speaker]) for turn in self.turns):
            return
        if self.turns:
            raise fault_of_hook(
                self.environment, "relay", f"it tells {name} nothing of what was said, so the policy was asked nothing"
            )
        told = f"neither it nor the task's `messages` tell {name}, who speaks first, anything; so nobody was asked anything"
        raise fault_of_hook(self.environment, "opening", told)

    def _relay(self, turn: Turn) -> None:
        """Tells every other participant of a turn that has ended, as far as the environment's `relay` lets it know."""
        for name in self.environment.participants:
            if name == turn.speaker:
                continue
            listener = self.participants[name]
            text = self.environment.relay(self.state, self, turn, listener)
            if text is None:
                continue
            if not isinstance(text, str):
                raise wrong_return(self.environment, "relay", text, "a text, or None")
            if is_blank(text):
                continue  # blank is silence
            said = self.transcript.last_message()
            if said is not None and said.content == text:
                said.visible_to.append(listener.name)
                self.threads[listener.name].append(Message("user", text), said.seq)
            else:
                self.tell(listener.name, text, spoken_by=turn.speaker)


def _require_opening(environment: Rules, opening: object) -> None:
    """Checks that `opening` returned messages, prompts and a name. Errors: EpisodeFailure (environment)."""
    if not isinstance(opening, Opening):
        raise wrong_return(environment, "opening", opening, "an Opening")
    for mapping in (opening.messages, opening.system):
        if not isinstance(mapping, Mapping):
            raise wrong_return(environment, "opening", mapping, 'texts by participant, as {"policy": ...}')
    for name, given in opening.messages.items():
        if not isinstance(given, str) and not (
            isinstance(given, list | tuple) and all(isinstance(message, Message) for message in given)
        ):
            raise wrong_return(
                environment, "opening", {name: given}, "a text or a list of Message for each participant"
            )
    for name, prompt in opening.system.items():
        if not isinstance(prompt, str):
            raise wrong_return(
                environment, "opening", {name: prompt}, "a text as the system prompt of each participant"
            )
