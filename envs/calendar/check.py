"""Grades a calendar by named parts, which are shares from 0 to 1, and says what is wrong with each event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ray_gym import Episode
from ray_gym.envs.calendar.answer import Entry, read_calendar
from ray_gym.envs.calendar.events import ExpectedEvent
from ray_gym.graders import Grader, Verdict, folded

COMPLAINTS = {
    "complete": "is missing",
    "durations": "has another duration",
    "windows": "is outside of its window",
    "constraints": "breaks its constraint",
    "no_overlap": "overlaps with another event",
}
"""Parts that are shares of the expected events, and the complaint about an event for which one does not hold."""

PARTS = ("parsed", "asked_for", *COMPLAINTS)
"""Names of all parts of a verdict."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings are the results of checking a calendar."""

    parts: dict[str, float]
    """Share from 0 to 1 by name of part."""
    complaints: list[str]
    """Complaints, one text for each event and part that does not hold."""
    credit: float
    """Reward from 0 to 1 that the calendar gets with partial credit."""


@dataclass(frozen=True)
class CalendarCheck(Grader):
    """Gives 1 if the calendar in the policy's last message is right in every part, else 0; with `partial`, its
    credit from 0 to 1. If no event is expected, it gives 1.
    """

    expected: tuple[ExpectedEvent, ...]
    """Events that the calendar has to hold."""
    partial: bool = False
    """True to give partial credit."""
    before: tuple[Entry | None, ...] = ()
    """Calendar with which the conversation of the task's row ended; empty if there is none."""

    async def grade(self, episode: Episode) -> Verdict:
        findings = check(self.expected, read_calendar(episode.answer), self.before)
        value = findings.credit if self.partial else float(fmean(findings.parts.values()) == 1)
        return Verdict(value, "; ".join(findings.complaints) or "all as asked for", findings.parts)


def check(
    expected: Sequence[ExpectedEvent], calendar: Sequence[Entry | None] | None, before: Sequence[Entry | None] = ()
) -> Findings:
    """Returns the findings about `calendar` (None: the answer has no calendar).

    If no event is expected, all is right, even None. `before`: the calendar with which the task's conversation ended.
    """
    if not expected:
        return Findings(dict.fromkeys(PARTS, 1.0), [], 1.0)
    if calendar is None:
        return Findings(dict.fromkeys(PARTS, 0.0), ["there is no calendar in the answer"], 0.0)
    found = _match_entries(expected, calendar)
    holds = _check_all(expected, calendar)
    complaints = [
        f"{event.label}: {COMPLAINTS['complete' if not of_event['complete'] else part]}"
        for event, of_event in zip(expected, holds, strict=True)
        for part in (COMPLAINTS if of_event["complete"] else ["complete"])
        if not of_event[part]
    ]
    strays = len(calendar) - len(found)
    if strays:
        complaints.append(f"{strays} of {len(calendar)} entries were not asked for, repeat another or are no events")
    asked_for = len(found) / len(calendar) if calendar else 0.0
    shares = {part: sum(of_event[part] for of_event in holds) / len(expected) for part in COMPLAINTS}
    credit = asked_for * _share_of_what_was_due(expected, calendar, before)
    return Findings({"parsed": 1.0, "asked_for": asked_for, **shares}, complaints, credit)


def _share_of_what_was_due(
    expected: Sequence[ExpectedEvent], calendar: Sequence[Entry | None], before: Sequence[Entry | None]
) -> float:
    """Returns the share of right parts over the events that were not wholly right in the calendar `before`.

    Returns 0 if an event that was right in `before` is not right any more, and 1 if all events were right and still
    are.
    """
    was_right = [all(of_event.values()) for of_event in _check_all(expected, before)]
    kept = [event for event, right in zip(expected, was_right, strict=True) if right]
    entries = list(_match_entries(kept, calendar).values())
    if not all(all(of_event.values()) for of_event in _check_all(kept, entries)):
        return 0.0
    holds = _check_all(expected, calendar)
    due = [of_event for of_event, right in zip(holds, was_right, strict=True) if not right]
    return fmean(held for of_event in due for held in of_event.values()) if due else 1.0


def _check_all(expected: Sequence[ExpectedEvent], calendar: Sequence[Entry | None]) -> list[dict[str, bool]]:
    """Returns for each expected event whether each part holds, by the part's name."""
    found = _match_entries(expected, calendar)
    entries = [entry for entry in calendar if entry is not None]
    return [_check_parts(event, found.get(event.event_id), entries) for event in expected]


def _match_entries(expected: Sequence[ExpectedEvent], calendar: Sequence[Entry | None]) -> dict[int, Entry]:
    """Returns the entry of each expected event that is in the calendar, by event id.

    An event is found by its name (case and white space make no difference), or without a name by its id. Its first
    entry counts; an entry whose id an earlier entry has does not count.
    """
    by_name = {folded(event.event_name): event.event_id for event in expected if event.event_name is not None}
    by_id = {str(event.event_id): event.event_id for event in expected if event.event_name is None}
    found: dict[int, Entry] = {}
    ids: set[str] = set()
    for entry in calendar:
        if entry is None:
            continue
        event_id = by_name.get(folded(entry.name), by_id.get(entry.event_id))
        if event_id is not None and event_id not in found and entry.event_id not in ids:
            found[event_id] = entry
        ids.add(entry.event_id)
    return found


def _check_parts(event: ExpectedEvent, entry: Entry | None, entries: Sequence[Entry]) -> dict[str, bool]:
    """Returns whether each part holds for an event, by the part's name; none does if the event is not in the calendar.

    `entry`: the event's entry; None if there is none. `entries`: all entries of the calendar.
    """
    if entry is None:
        return dict.fromkeys(COMPLAINTS, False)
    opens, closes = event.window
    others = (other for other in entries if other is not entry)
    return {
        "complete": True,
        "durations": entry.duration == event.duration,
        "windows": opens <= entry.start and entry.end <= closes,
        "constraints": event.rule.holds(entry.start, entry.end),
        "no_overlap": not any(entry.start < other.end and other.start < entry.end for other in others),
    }
