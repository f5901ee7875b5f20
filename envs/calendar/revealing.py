"""Live mode: what the policy hears of the user's messages, and which lines the user still owes.

A user model may forget a request or get it wrong, and the policy must not be scored for what it was never told. So each of the user's
turns reveals a line for certain: if its words don't, the line that is due is put behind them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from envs.calendar.phrases import ways_to_say
from envs.calendar.task import CalendarTask, UserLine
from ray_gym.graders import folded

_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Revealed:
    heard: list[str]
    """What the policy is told of each message."""
    owed: list[UserLine]
    closed: bool
    """Whether the user said the stop text with nothing left to say."""


def reveal(task: CalendarTask, lines: Sequence[UserLine], said: Sequence[str], stop_text: str | None) -> Revealed:
    """`said`: the user's messages so far, in order."""
    durations = {event.event_id: event.duration for event in task.expected_state}
    heard: list[str] = []
    owed = list(lines)
    for text in said:
        if stop_text and stop_text in text:
            if not owed:
                return Revealed([*heard, text], [], closed=True)
            text = text.replace(stop_text, "").strip()
        named = task.mentioned(text)
        told = [line for line in owed if line.event_id in named and _conveys(text, line, durations[line.event_id])]
        if owed and not told:
            told = owed[:1]
            if told[0].event_id is not None or not text:
                text = f"{text}\n{told[0].text}".strip()
        heard.append(text)
        owed = [line for line in owed if line not in told]
    return Revealed(heard, owed, closed=False)


def _conveys(text: str, line: UserLine, duration: int) -> bool:
    """Whether words that name the event have all that its line says: the duration and every time."""
    text = folded(text)
    has_duration = any(re.search(rf"(?<![0-9]){wording}", text) for wording in ways_to_say(duration))
    has_times = set(_TIME.findall(line.text)) <= set(_TIME.findall(text))
    return folded(line.text) in text or (has_duration and has_times)
