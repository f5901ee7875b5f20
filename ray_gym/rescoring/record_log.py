"""Answers the calls of an episode that is played again from its record, and compares what happens with the record.

While the episode is played, each model call gets the next recorded answer of its thread, as soon as all events before it
have happened: so threads that are asked at once take turns as they did. Every event is compared with the recorded one:
the first that differs ends the replay. While the episode is scored, a question that was asked before gets its recorded
answer, each of which is used once; others are for live models.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import deque
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ray_gym.config.interpolations import without_variables
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import EpisodeFailure
from ray_gym.events import Event
from ray_gym.journal.call_log import CallLog, MadeCall
from ray_gym.journal.history import History
from ray_gym.journal.records import OTHER_CALLS, Called
from ray_gym.journal.replay import Diverged
from ray_gym.messages import utf8
from ray_gym.models.stored import store
from ray_gym.rescoring.recorded import Answer, Asked, RecordedEpisode
from ray_gym.stop import StopReason

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode

PATIENCE_S, ALONE_S = 60.0, 5.0
"""Seconds that a recorded answer waits for the events before it, before the replay counts as diverged: while other work is
under way, and while none is.
"""
SPINS = 500
"""Turns of the event loop for which it waits for them without a pause."""
COMPARED = tuple(
    name for name in Event.__struct_fields__ if name not in ("seq", "reward", "started_at", "duration_s", "visible_to")
)
"""Fields of events that have to be as recorded. `visible_to` is compared at the end, since later events add to it."""
FOR_PEOPLE = ("note", "stop", "verdict")
"""Kinds of events whose texts no participant sees."""
SCORING_KINDS = ("judge", "verdict", "note", "system")
"""Kinds of events that belong to the scoring after the last event of the play."""


class RecordLog(CallLog):
    """Gives an episode its recorded answers, and finds the first difference between the record and what happens."""

    def __init__(self, recorded: RecordedEpisode, answers: Sequence[Answer], asked_anew: Collection[str] = ()) -> None:
        """Makes the log of one replay. `answers`: answers of the play, in order. `asked_anew`: auxiliary participants
        that are others now, whose recorded answers don't count.
        """
        spec = recorded.spec
        began = History(spec.try_, recorded.row["started_at"])
        super().__init__(spec.episode_id, spec.try_, spec.attempt, history=began)
        self.recorded = recorded
        """Episode that the answers come from."""
        self._asked_anew = asked_anew
        self._of_thread: dict[str, list[Called]] = {}
        for place, answer in enumerate(answers):
            thread = answer.event.thread or ""
            of_it = self._of_thread.setdefault(thread, [])
            of_it.append(_called(spec, answer, place, thread, len(of_it)))
        self._places = [answer.place for answer in answers]
        self._total = len(answers)
        self._given = 0
        self._moved = asyncio.Event()
        self._compared = 0
        self._unanswered: set[tuple[str, int]] = set()
        """Calls of the play that the record has no answer to."""
        self._judged: dict[Asked, deque[Answer]] = {}
        self.episode: Episode | None = None
        """Episode that is played again; None until it is made."""
        self.asked_live = 0
        """Number of questions of the scoring that the record does not answer."""
        self.asked_record = 0
        """Number of questions of the scoring that the record answered."""

    @property
    def is_live(self) -> bool:
        """Says whether all answers of the play were given."""
        return self._given == self._total

    def make(self, thread: str, number: int, request: bytes) -> MadeCall:
        """Registers a call, and returns it with its recorded answer, if there is one. Errors: Diverged if the events up
        to now are not those of the record.
        """
        made = super().make(thread, number, request)
        if self.episode is None or thread.startswith(OTHER_CALLS):
            return made
        if self.episode.scoring:
            return self._look_up(made)
        self._compare()
        recorded = self._of_thread.get(thread, [])
        if number < len(recorded):
            return replace(made, recorded=recorded[number])
        self._unanswered.add(made.name)
        return made

    async def recall(self, recorded: Called) -> None:
        """Waits until all events before a recorded answer have happened. Errors: Diverged if they don't."""
        if recorded.seq < 0:  # a judge's
            return
        events, before, since = self._episode_now().events, self._places[recorded.seq], time.monotonic()
        for turn in itertools.count():
            if len(events) >= before:
                break
            await asyncio.sleep(0 if turn < SPINS else 0.005)
            if time.monotonic() - since > (PATIENCE_S if len(self._under_way) > 1 else ALONE_S):
                self._compare()
                told = f"{_summary(self.recorded.events[len(events)])} was recorded, and does not come"
                raise self._refuse(len(events), told)
        self._given += 1
        self._moved.set()
        self._moved = asyncio.Event()

    async def hold_if_cut(self, made: MadeCall) -> None:
        """Returns at once for a call that the record answers. Another call of the play waits for the end that the record
        has there: a deadline, or the policy's own fault. Errors: Diverged if the record has none.
        """
        if made.name not in self._unanswered:
            return
        while not self.is_live:
            await self._moved.wait()
        await self._rest()
        self._end_as_recorded(made)
        await asyncio.get_running_loop().create_future()  # until the deadline cancels it

    def begin_scoring(self) -> None:
        """Ends the play. From now on questions are looked up among those of the recorded scoring. Errors: Diverged if
        the play was not that of the record.
        """
        episode, events = self._episode_now(), self.recorded.events
        self._compare()
        played = len(episode.events)
        for old, new in zip(events, episode.events, strict=False):
            if set(old.visible_to) != set(new.visible_to):
                raise self._refuse(old.seq, f"visible_to was {old.visible_to}, and is {new.visible_to}")
        self._compare_tools()
        if not self.is_live:
            raise self._refuse(played, f"it ended after {self._given} of {self._total} recorded answers")
        for event in events[played:]:
            if event.kind not in SCORING_KINDS:
                raise self._refuse(event.seq, f"{_summary(event)} was recorded, and the play is over")
        judged = self.recorded.judged_answers(played)
        self._judged = {asked: found for asked, found in judged.items() if asked[0] not in self._asked_anew}

    def refuse(self, why: str) -> Diverged:
        """Keeps the first reason for which the episode can't be played again, ends it, and returns the exception."""
        self.diverged = self.diverged or why
        if self.episode is not None:
            self.episode.end(StopReason.FAILED, why)
        return Diverged(why)

    # ---- the parts of it ----

    def _look_up(self, made: MadeCall) -> MadeCall:
        """Returns a call of the scoring, with the recorded answer to the same question, if one is left."""
        episode = self._episode_now()
        thread = episode.threads[made.thread]
        asked = thread.participant.name, tuple(thread.messages)
        if not (found := self._judged.get(asked)):
            self.asked_live += 1
            return made
        self.asked_record += 1
        called = _called(episode.spec, found.popleft(), -1, made.thread, made.number)
        return replace(made, recorded=replace(called, active_s=episode.clock.elapsed_s))

    def _end_as_recorded(self, made: MadeCall) -> None:
        """Ends the episode as it ended before a call was answered. Errors: EpisodeFailure for the policy's own fault;
        Diverged if the episode ended otherwise.
        """
        episode, stop, fault = self._episode_now(), self.recorded.stop, self.recorded.own_fault
        self._compare()
        if stop is not None and stop.reason == StopReason.DEADLINE:
            episode.clock.set_age(episode.limits.episode_deadline_s)
            return
        if fault is not None:
            raise EpisodeFailure.of(fault)
        at = len(episode.events)
        then = _summary(self.recorded.events[at]) if at < len(self.recorded.events) else "nothing"
        raise self._refuse(at, f"{then} was recorded, and {made.thread} is asked now")

    def _compare(self) -> None:
        """Compares the events since the last comparison with those of the record. Errors: Diverged if they differ."""
        if self.diverged is not None:
            raise Diverged(self.diverged)
        events, recorded = self._episode_now().events, self.recorded.events
        while self._compared < len(events):
            new, at = events[self._compared], self._compared
            if at >= len(recorded):
                raise self._refuse(at, f"nothing was recorded, and {_summary(new)} comes now")
            for name in COMPARED:
                was, now = getattr(recorded[at], name), _stored(getattr(new, name))
                if was != now and not self._are_masked_alike(new.kind, was, now):
                    told = f"{name} of {_summary(new)} was {_shown(was, now)}, and is {_shown(now, was)}"
                    raise self._refuse(at, told)
            self._compared += 1

    def _are_masked_alike(self, kind: str, was: object, now: object) -> bool:
        """Says whether two texts for people are one and the same once values of the config's environment variables are
        masked in both: earlier versions did not mask how an episode ended.
        """
        if kind not in FOR_PEOPLE or not (isinstance(was, str) and isinstance(now, str)):
            return False
        filled_in = self._episode_now().filled_in
        return without_variables(was, filled_in) == without_variables(now, filled_in)

    def _compare_tools(self) -> None:
        """Compares the tools that prompts of the play showed with those of the record, if it has them. Errors: Diverged."""
        kept = self.recorded.row["tools_shown"]
        if kept is None:
            return
        shown = json.loads(kept)
        for name, thread in self._episode_now().threads.items():
            if [tool.as_openai() for tool in thread.shown] != shown.get(name, []):
                raise self.refuse(f"it diverges: {name} is shown other tools than were recorded")

    def _refuse(self, event: int, why: str) -> Diverged:
        return self.refuse(f"it diverges at event {event}: {why}")

    def _episode_now(self) -> Episode:
        assert self.episode is not None
        return self.episode

    async def _rest(self) -> None:
        """Waits until the episode's other tasks have gone as far as they can."""
        self._stillness.stir()
        await self._stillness.wait()


def _called(spec: EpisodeSpec, answer: Answer, seq: int, thread: str, number: int) -> Called:
    """Returns an answer in the form of a journal. Its age is 0: limits of time don't count in a replay."""
    event = answer.event
    ids = spec.episode_id, spec.try_, spec.attempt, seq, 0, thread, number, b""
    return Called(*ids, 0.0, event.started_at, event.duration_s, store(answer.completion))


def _stored(value: Any) -> Any:
    """Returns a value of an event as a file has it."""
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, tuple):
        return tuple(
            replace(call, id=utf8(call.id), name=utf8(call.name), arguments=utf8(call.arguments)) for call in value
        )
    return value


def _summary(event: Event) -> str:
    """Returns the kind of an event with its article, and whose it is."""
    kind = f"{'an' if event.kind == 'opening' else 'a'} {event.kind}"
    return f"{kind} of {event.thread or event.participant}" if event.participant else kind


def _shown(value: Any, other: Any) -> str:
    """Returns a value, shortened; of a text, the part from shortly before the first difference to another one."""
    if not isinstance(value, str) or not isinstance(other, str):
        return f"{value!r:.60}"
    same = next((n for n, pair in enumerate(zip(value, other, strict=False)) if len(set(pair)) > 1), 0)
    start = max(0, same - 20)
    return f"{'...' if start else ''}{value[start : start + 60]!r}"
