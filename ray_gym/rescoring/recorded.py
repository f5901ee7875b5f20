"""Reads a recorded episode from its row: its specification, its events, and the answers of its models."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import Failure, FailureKind
from ray_gym.events import Event
from ray_gym.messages import Message, ToolCall
from ray_gym.models.base import NO_LOGPROBS, NO_TOKENS, Completion, VersionSpan
from ray_gym.stop import Stop, StopReason

UNPLAYED = (StopReason.FAILED, StopReason.CLOSED, StopReason.SURPLUS)
"""Stop reasons of episodes that were not played to their end."""
_SPENT = re.compile(r"(\d+) tokens generated")
"""Text of a stop by the token budget."""

Asked = tuple[str, tuple[Message, ...]]
"""Question to an auxiliary participant: its name, and the conversation that it was shown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Holds a recorded answer of a model."""

    place: int
    """Number of its event in the episode."""
    event: Event
    completion: Completion


@dataclass(frozen=True)
class RecordedEpisode:
    """Holds an episode as its row tells of it."""

    row: Mapping[str, Any]
    """Columns of the row, without the arrays of its samples, as Python values."""
    samples: Sequence[Mapping[str, Any]]
    """Samples, without their arrays; those of threads with a `/` in their name, which judges have, with them."""

    @cached_property
    def spec(self) -> EpisodeSpec:
        """Returns the specification with which the episode was played, in its last try."""
        row = self.row
        ids = row["episode_id"], row["group_id"], row["task_id"], row["repeat"]
        return EpisodeSpec(*ids, row["seed"], row["task"], row["try"], row["attempt"])

    @property
    def name(self) -> str:
        """Returns the episode's id."""
        return str(self.row["episode_id"])

    @property
    def status(self) -> str:
        """Returns the recorded status."""
        return str(self.row["status"])

    @cached_property
    def failure(self) -> Failure | None:
        """Returns the recorded failure; None if there is none."""
        given = self.row["failure"]
        if given is None:
            return None
        kind = FailureKind(given["kind"])
        return Failure(kind, given["where"] or "", given["message"] or "", self.row["traceback"] or "")

    @property
    def own_fault(self) -> Failure | None:
        """Returns the policy's own fault that ended the episode; None if there is none. The failure of a dropped
        episode is its group's.
        """
        if self.row["stop_reason"] != StopReason.POLICY_FAILED:
            return None
        kept = self.failure if self.failure is not None and self.failure.where != "group" else None
        return kept or Failure(FailureKind.POLICY, "policy", self.row["stop_text"] or "")

    @cached_property
    def events(self) -> list[Event]:
        """Returns the recorded events, in order."""
        return [_event_of(each) for each in self.row["events"] or ()]

    @cached_property
    def stop(self) -> Stop | None:
        """Returns the end of the play; None if the record has none."""
        reason = self.row["stop_reason"]
        return Stop(StopReason(reason), self.row["stop_text"] or "") if reason else None

    @cached_property
    def _stopped_at(self) -> int:
        return next((place for place, event in enumerate(self.events) if event.kind == "stop"), len(self.events))

    @property
    def was_played(self) -> bool:
        """Says whether the episode was played to its end, so that it could be scored."""
        is_over = self.stop is not None and self.stop.reason not in UNPLAYED
        return is_over and self.status != "cancelled" and self._stopped_at < len(self.events)

    @property
    def failed_in_scoring(self) -> bool:
        """Says whether the episode failed because a judge failed, or was out of reach."""
        failure = self.failure
        is_judges = failure is not None and failure.kind in (FailureKind.JUDGE, FailureKind.INFRA)
        return self.status == "failed" and self.was_played and is_judges

    def played_answers(self, speakers: Sequence[str], budget: int | None) -> list[Answer]:
        """Returns the answers that models gave while the episode was played, in order. They have no token ids; those
        that were generated are counted where samples have them.

        speakers: participants whose tokens count for the budget. budget: token budget of the episode; None: it has none.
        """
        drawn = self._drawn
        opened: dict[str | None, int] = {}
        answers = []
        for place, event in enumerate(self.events):
            opened.setdefault(event.thread, place)
            if _is_answer(event) and (event.kind == "message" or opened[event.thread] < self._stopped_at):
                generated = drawn.get((event.thread, event.seq), 0)
                answers.append(Answer(place, event, _completion_of(event, generated)))
        if budget is not None and self.stop is not None and self.stop.reason == StopReason.TOKEN_BUDGET:
            counted = [each for each in answers if each.event.participant in speakers]
            said = _SPENT.fullmatch(self.stop.text)
            spent = int(said[1]) if said else budget
            if counted:  # an endpoint without token ids: only the sum is known
                counted[-1].completion.generated_tokens += max(
                    0, spent - sum(each.completion.generated_tokens for each in counted)
                )
        return answers

    def judged_answers(self, start: int) -> dict[Asked, deque[Answer]]:
        """Returns the answers that auxiliary participants gave while the episode was scored, by what they were asked, in
        the order in which they were asked. Each thread of the scoring has one. `start`: number of the first event of the
        scoring.
        """
        threads: dict[str, list[Event]] = defaultdict(list)
        for event in self.events[start:]:
            if event.thread is not None:
                threads[event.thread].append(event)
        found: dict[Asked, deque[Answer]] = defaultdict(deque)
        for thread, events in threads.items():
            answered = next((place for place, event in enumerate(events) if _is_answer(event)), None)
            if answered is not None:
                event, shown = events[answered], events[:answered]
                sample = next((each for each in self.samples if each["thread"] == thread), None)
                completion = _completion_of(event) if sample is None else _with_tokens(event, shown, sample)
                key = event.participant or "", tuple(map(message_of, shown))
                found[key].append(Answer(event.seq, event, completion))
        return found

    @cached_property
    def _drawn(self) -> dict[tuple[str | None, int], int]:
        """Returns the number of generated tokens by thread and event."""
        return {
            (sample["thread"], span["event_seq"]): span["end"] - span["start"]
            for sample in self.samples
            for span in sample["spans"] or ()
            if span["generated"]
        }


def message_of(event: Event) -> Message:
    """Returns the message that an event put into a thread."""
    role: Any = event.role
    return Message(role, event.content, event.reasoning, event.tool_calls, event.tool_call_id)


def _is_answer(event: Event) -> bool:
    """Says whether an event is the answer of a model."""
    return event.role == "assistant" and event.model is not None and event.kind in ("message", "judge")


def _event_of(given: Mapping[str, Any]) -> Event:
    """Returns an event as it was when it was recorded."""
    fields = {key: given[key] for key in Event.__struct_fields__ if given.get(key) is not None}
    fields["content"] = "".join(part["text"] or "" for part in given["content"] or ())
    calls = given["tool_calls"] or ()
    fields["tool_calls"] = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in calls)
    fields["visible_to"] = list(given["visible_to"] or ())
    return Event(**fields)


def _completion_of(event: Event, generated: int = 0) -> Completion:
    finish: Any = event.finish_reason or "stop"
    return Completion(message_of(event), finish, generated_tokens=generated)


def _with_tokens(event: Event, shown: Sequence[Event], sample: Mapping[str, Any]) -> Completion:
    """Returns the completion of a thread's only call, with its tokens. `shown`: events of its prompt."""
    spans = sample["spans"] or ()
    drawn = next((span for span in spans if span["generated"]), None)
    start = drawn["start"] if drawn is not None else len(sample["token_ids"])
    lengths = [sum(_lengths(spans, each.seq)) for each in shown]
    completion = _completion_of(event, len(sample["token_ids"]) - start)
    completion.prompt_ids = np.asarray(sample["token_ids"][:start], dtype=np.int32)
    completion.prompt_lengths = tuple(lengths)
    completion.token_ids = np.asarray(sample["token_ids"][start:], dtype=np.int32) if drawn is not None else NO_TOKENS
    completion.logprobs = np.asarray(sample["logprobs"][start:], dtype=np.float32) if drawn is not None else NO_LOGPROBS
    spread = sample["versions"] or ()
    completion.versions = tuple(VersionSpan(v["version"], v["start"] - start, v["end"] - start) for v in spread)
    completion.prompt_tokens, completion.fork_reason = start, sample["fork_reason"]
    if drawn is not None:
        completion.kind, completion.grammar = drawn["kind"] or "plain", (drawn["sampling"] or {}).get("grammar")
    return completion


def _lengths(spans: Sequence[Mapping[str, Any]], seq: int) -> Iterator[int]:
    """Yields the lengths of an event's stretches of a prompt."""
    return (span["end"] - span["start"] for span in spans if span["event_seq"] == seq and not span["generated"])
