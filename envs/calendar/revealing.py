"""Decides in live mode which words of the user the policy is told, and which lines the user still has to say.

A user model may forget a request, get it wrong or make up another one, and the policy must not be scored for requests
that it was never told. So each turn of the user reveals one line for certain, and anything else in the message is told
right after that line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ray_gym.envs.calendar.phrases import NO_CALENDAR
from ray_gym.envs.calendar.task import CalendarTask, UserLine
from ray_gym.envs.calendar.wording import is_harmless, says_as_much, take_out
from ray_gym.graders import folded

ONLY_THIS = "To be exact: all that I asked for before stays as it was, and of this message only the following counts."
NOTHING_NEW = "To be exact: all that I asked for before stays as it was, and nothing in this message changes it."
MOST_BESIDE = 2_000
"""Largest number of characters that a message may have beside all lines. Nothing counts in a longer one."""


@dataclass(frozen=True, slots=True)
class Revealed:
    """Holds the texts that the policy is told of the user's messages so far, and the lines that the user still owes."""

    heard: list[str]
    """Text that the policy is told instead of each message."""
    owed: list[UserLine]
    """Lines that the user has not said yet."""
    is_closed: bool
    """True if the user said the stop text with nothing left to say."""


def reveal(task: CalendarTask, lines: Sequence[UserLine], said: Sequence[str], stop_text: str | None) -> Revealed:
    """Returns the text that the policy is told for each of the user's messages so far, the lines not said yet, and True
    if the user closed the conversation by the stop text.

    `said`: the messages, in order. A message that says none of the lines counts as the first line that is left.
    """
    heard: list[str] = []
    owed = list(lines)
    for message in said:
        text, is_closing = _without_stop_text(message, stop_text)
        if is_closing and not owed:
            return Revealed([*heard, text], [], is_closed=True)
        told, is_exact = _find_told(text, task, lines, owed)
        told = told or owed[:1]
        heard.append(text if text and is_exact else _correct(text, told))
        owed = [line for line in owed if line not in told]
    return Revealed(heard, owed, is_closed=False)


def _find_told(
    text: str, task: CalendarTask, lines: Sequence[UserLine], owed: Sequence[UserLine]
) -> tuple[list[UserLine], bool]:
    """Returns the owed lines that a message says, and True if the policy may be told the message as it is, because the
    message asks for nothing beyond these lines. A message that is far longer than all lines says none.
    """
    if len(text) > MOST_BESIDE + sum(len(line.text) for line in lines):
        return [], False  # searching it would hold up the event loop
    rest, _ = take_out(folded(text), NO_CALENDAR)
    found = set()
    for line in sorted(lines, key=lambda line: -len(line.text)):
        rest, was_there = take_out(rest, line.text)
        if was_there:
            found.add(line)
    told = [line for line in owed if line in found]
    if is_harmless(rest):
        return told, bool(told) or not owed or owed[0].event_id is None
    events = {event.event_id: event for event in task.expected_state}
    for line in owed:
        if line not in told and line.event_id is not None and says_as_much(rest, line.text, events[line.event_id]):
            return [*told, line], True
    return told, False


def _correct(text: str, told: Sequence[UserLine]) -> str:
    requests = [line.text for line in told if line.event_id is not None]
    if not text:
        return "\n".join(line.text for line in told)
    return "\n".join([text, ONLY_THIS, *requests] if requests else [text, NOTHING_NEW])


def _without_stop_text(text: str, stop_text: str | None) -> tuple[str, bool]:
    """Returns a message without the stop text, and True if it was there.

    The stop text counts on a line of its own and at the end of the message: as the last sentence if it is a word, else
    ([END], say) after any text. Anywhere else it is ordinary text.
    """
    if not stop_text:
        return text, False
    words, begins = re.escape(stop_text), r"(?<=[.!?])\s+" if re.match(r"\w", stop_text) else ""
    found = re.compile(rf"^[ \t*]*{words}[ \t.!*]*$|{begins}{words}[\s.!*]*\Z", re.MULTILINE)
    rest, times = found.subn("", text)
    return rest.strip() if times else text, times > 0
