"""Live mode: what the policy hears of the user's messages, and which lines the user still owes.

A user model may forget a request or get it wrong, and the policy must not be scored for what it was never told. So each of the user's
turns reveals a line for certain: if its words don't, the line that is due is put behind them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envs.calendar.events import ExpectedEvent
from envs.calendar.phrases import durations
from envs.calendar.task import UserLine
from ray_gym.graders import folded

_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Revealed:
    heard: list[str]
    """What the policy is told of each message."""
    owed: list[UserLine]
    closed: bool
    """Whether the user said the stop text with nothing left to say."""


def reveal(
    lines: Sequence[UserLine], events: Mapping[int, ExpectedEvent], said: Sequence[str], stop_text: str | None
) -> Revealed:
    """`said`: the user's messages so far, in order."""
    heard: list[str] = []
    owed = list(lines)
    for text in said:
        if stop_text and stop_text in text:
            if not owed:
                return Revealed([*heard, text], [], closed=True)
            text = text.replace(stop_text, "").strip()
        told = [line for line in owed if line.event_id is not None and _conveys(text, line, events[line.event_id])]
        if owed and not told:
            told = owed[:1]
            if told[0].event_id is not None or not text:
                text = f"{text}\n{told[0].text}".strip()
        heard.append(text)
        owed = [line for line in owed if line not in told]
    return Revealed(heard, owed, closed=False)


def _conveys(text: str, line: UserLine, event: ExpectedEvent) -> bool:
    """Whether the words have all that the line says: the event's name, its duration and every time."""
    text = folded(text)
    names_duration = any(re.search(rf"(?<![0-9]){wording}", text) for wording in durations(event.duration))
    names_times = set(_TIME.findall(line.text)) <= set(_TIME.findall(text))
    return folded(line.text) in text or (names_duration and names_times and folded(event.event_name) in text)
