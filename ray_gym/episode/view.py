"""Defines what environments and graders may read of an episode: its state, random numbers, clock, ids and messages."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from types import CodeType
from typing import Any

from ray_gym.aio.clock import ActiveClock
from ray_gym.config.interpolations import without_variables
from ray_gym.episode.calls import Calls
from ray_gym.episode.participant import Participant, require_participant
from ray_gym.episode.sandbox import EpisodeSandbox, seconds_for_tools
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.episode.transcript import Transcript
from ray_gym.episode.turn import Turn, Usage
from ray_gym.events import Event
from ray_gym.journal.call_log import CallLog
from ray_gym.messages import ToolSchema, is_blank, plain_text
from ray_gym.rendering import Rendering
from ray_gym.seeds import derive_seed, stable_id
from ray_gym.stop import Stop, StopReason
from ray_gym.task import Task


class EpisodeView:
    """Gives access to the state, the record, the random numbers and the time of an episode."""

    def __init__(
        self,
        spec: EpisodeSpec,
        stage: Stage,
        task: Task,
        log: CallLog | None = None,
    ) -> None:
        self.spec = spec
        self.environment = environment = stage.environment
        self.task: Any = task
        self.state: Any = None
        self.tools = dict(environment.tools)
        self._shown: dict[str, tuple[ToolSchema, ...]] = {}
        self.participants = dict(stage.participants)
        self.limits = stage.limits
        self.filled_in = stage.filled_in
        self._tool_runner = stage.tool_runner
        self._agents = stage.agents
        self._sandboxes = stage.sandboxes
        self._sandbox: EpisodeSandbox | None = None
        self.forgotten: list[tuple[str, CodeType, int]] = []
        """Commands that nobody awaited (`ray_gym.episode.awaiting`)."""
        self._closing: list[Callable[[], Coroutine[Any, Any, None]]] = []
        """Functions that close what the episode has opened."""
        self.usage = Usage()
        self._prices = stage.prices
        self.costs = {name: 0 for name, one in self.participants.items() if one.model in stage.prices}
        """Cost of each participant's calls, in picos (`ray_gym.models.price`), of those whose model has a price."""
        self.first = "policy"
        self.stop: Stop | None = None
        self.undecided: list[str] = []
        """Functions of `Library` that gave no verdict, each with the reason, as `function (file:line): reason`."""
        self._undecided_from = 0
        """Number of these before the scoring."""
        self._scored_from: int | None = None
        """Number of the first event of the scoring; None before it."""
        self.asking: dict[str, Participant] = {}
        """Participants that are being asked now, by thread. Once a deadline has passed, they are those that were asked
        then."""
        log = log or CallLog(spec.episode_id, spec.try_, spec.attempt)
        self.started_at = log.started_at
        self.clock = ActiveClock()
        self._metrics = stage.metrics
        self.calls = Calls(stage, log, self.clock)
        self._now = self.started_at
        self._rngs: dict[str, random.Random] = {}
        self._ids = 0
        self.transcript = Transcript(spec, self.participants, stage.models, task.prompts(), environment.participants)
        self.events, self.turns = self.transcript.events, self.transcript.turns
        self.threads = self.transcript.threads
        self.renderings: list[Rendering] = []
        """Pictures of the state, each of which differs from the one before."""

    @property
    def stopped(self) -> bool:
        """Says whether the episode has ended."""
        return self.stop is not None

    def rng(self, name: str) -> random.Random:
        """Returns the random number generator of this name, which is one and the same object at every call.

        The same name gives the same numbers every time this try is played.
        """
        if name not in self._rngs:
            self._rngs[name] = random.Random(derive_seed(self.spec.seed, self.spec.try_, "rng", name))
        return self._rngs[name]

    def new_id(self) -> str:
        """Returns a fresh id, the same every time this try is played."""
        self._ids += 1
        return stable_id(self.spec.seed, self.spec.try_, "id", self._ids)

    def elapsed_s(self) -> float:
        """Returns the seconds that this episode was played, added up over all its attempts, without pauses."""
        return self.clock.elapsed_s

    def now(self) -> float:
        """Returns the Unix time in seconds of the last model call's answer, or of the start before there is any. An
        episode that is resumed elsewhere gets the same times.
        """
        return self._now

    def turns_of(self, participant: str) -> int:
        """Returns the number of turns that a participant has begun. Errors: ValueError for a name without turns."""
        self._require_speaker(participant, "turns_of")
        return [turn.speaker for turn in self.turns].count(participant)

    def results_for(self, turn: Turn, listener: Participant) -> list[str]:
        """Returns the results of a turn's tool calls that `listener` may know: those that were carried out, of tools
        that it could have called itself. All else is the speaker's own: other tools' results, and every refusal, which
        may name the speaker's tools or quote its arguments.
        """
        offered = {name for name, tool in self.tools.items() if tool.offered_to(listener.name)}
        return [result for name, result in turn.carried_out if name in offered]

    def messages_of(self, participant: str) -> list[Event]:
        """Returns the events of a participant's messages in its own conversation, in order. Messages that the task's
        row began with are not among them. The name of a thread of `open_thread` stands for that conversation. Errors:
        ValueError for an unknown participant, and for an auxiliary one, which has no conversation of its own.
        """
        if participant not in self.threads:
            self._require_speaker(participant, "messages_of")
        return [event for event in self.events if event.kind == "message" and event.thread == participant]

    def _require_speaker(self, name: str, asked: str) -> None:
        if name in self.environment.auxiliary:
            raise ValueError(f"{asked}: {name!r} is auxiliary, and has no turns: `episode.ask` returns what it says")
        require_participant(name, self.environment.participants, asked)

    @property
    def answer(self) -> str:
        """Returns the text of the policy's last message that has words, which may stand beside a call; an empty text if
        it has said nothing.
        """
        said = [message.content for message in self.messages_of("policy") if not is_blank(message.content)]
        return said[-1] if said else ""

    def note(self, text: str) -> None:
        """Writes a remark into the record, with values of the config's environment variables masked. No participant sees
        it. Errors: TypeError if `text` is no text.
        """
        self.transcript.write("note", content=without_variables(text, self.filled_in))

    def end(self, reason: StopReason, text: str = "") -> None:
        """Ends the episode for a reason; `text` explains it, in which values of the config's environment variables are
        masked. If the episode has ended already, nothing changes. Errors: TypeError if `reason` is no StopReason, or
        `text` no text.
        """
        if not isinstance(reason, StopReason):
            raise TypeError(
                f"end: expected a StopReason, found {reason!r:.60}; words of your own are the second argument"
            )
        if self.stop is None:
            text = plain_text(text)
            if isinstance(text, str):
                text = without_variables(text, self.filled_in)
            self.transcript.write("stop", content=text, finish_reason=reason.value)
            self.stop = Stop(reason, text)

    def record_verdict(self, name: str, value: float, why: str) -> None:
        """Records the verdict of a grader: its name, the value it gave, and why, in which values of the config's environment
        variables are masked.
        """
        text = f"{name}: {without_variables(why, self.filled_in)}" if why else name
        self.transcript.write("verdict", content=text).reward = value

    # ---- the sandbox ----

    @property
    def sandbox(self) -> EpisodeSandbox:
        """Returns the sandbox of this episode: a place with limits, where programs run and files lie. The program that
        plays its policy works in the same. It is opened when it is first used, or for `furnish`.
        """
        if self._sandbox is None:
            supply, clock = self._sandboxes, self.clock
            if supply is None:
                self._sandbox = EpisodeSandbox(None, clock)
            else:
                seconds = seconds_for_tools(supply.limits, self.limits.tool_deadline_s)
                self._sandbox = EpisodeSandbox(supply.place, clock, seconds)
            self.when_over(self._sandbox.close)
        return self._sandbox

    def sandbox_beside(self) -> EpisodeSandbox:
        """Makes another sandbox that is there until the episode is over, for a program that must not meet the one in the
        episode's own.
        """
        sandbox = EpisodeSandbox(self._sandboxes.beside if self._sandboxes is not None else None, self.clock)
        self.when_over(sandbox.close)
        return sandbox

    @asynccontextmanager
    async def fresh_sandbox(self) -> AsyncIterator[EpisodeSandbox]:
        """Gives a sandbox that nobody has used, to grade in, say, and closes it after the block. An episode may have one
        at a time beside its own.
        """
        sandbox = EpisodeSandbox(self._sandboxes.fresh if self._sandboxes is not None else None, self.clock)
        try:
            yield sandbox
        finally:
            await sandbox.close()

    # ---- the end ----

    def when_over(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Has `close` called and awaited once the episode is over, or is played no further on this worker. It raises
        nothing.
        """
        self._closing.append(close)

    async def leave(self) -> None:
        """Ends the programs that play its participants, and closes what it has opened, since the episode is over."""
        if self._agents is not None:
            await self._agents.leave(self)
        while self._closing:
            await asyncio.shield(self._closing.pop()())  # it is closed even if nobody waits for it any more

    # ---- the score ----

    @property
    def scoring(self) -> bool:
        """Says whether the scoring of the episode has begun."""
        return self._scored_from is not None

    def begin_scoring(self) -> None:
        """Begins the scoring: from now on `ask` may be used although the episode has ended."""
        self._scored_from = len(self.events)
        self._undecided_from = len(self.undecided)
        self.forgotten.clear()

    def score_again(self, why: str) -> None:
        """Turns the verdicts that graders gave since the scoring began into notes, since the episode is scored again.

        `why` is noted too.
        """
        for event in self.events[self._scored_from :]:
            if event.kind == "verdict":
                event.kind, event.content = "note", f"does not count: {event.content} ({event.reward:g})"
                event.reward = None
        del self.undecided[self._undecided_from :]
        self.note(why)
