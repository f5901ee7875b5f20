"""Compares other words with a request: whether they tell the same details (name, duration and wish), in wordings known
here.
"""

from __future__ import annotations

import re

from ray_gym.envs.calendar.events import ExpectedEvent
from ray_gym.envs.calendar.phrases import FURTHER_REQUESTS, REQUESTS, WINDOWS, WISHES, ways_to_say
from ray_gym.graders import folded

_WORD = re.compile(r"\w+")
_REQUEST = re.sub(r"\{\w+\}", " ", " ".join(REQUESTS + FURTHER_REQUESTS))
_HARMLESS = frozenset(
    _WORD.findall(f"{_REQUEST} but hello hi ok okay thanks thank you that all would like to have a an the".casefold())
)
"""Words that may stand around the details of a request without making it another one."""


def says_as_much(text: str, request: str, event: ExpectedEvent) -> bool:
    """Says whether a text tells all details of an event that a request tells (a wish only if the event has one).

    Returns False if that is not certain: for a request in a row's own words, or a text that says anything else.
    """
    needed, told = _details(request, event), _details(text, event)
    if needed is None or told is None:
        return False
    return needed - ({"wish"} if event.rule.kind == "none" else set()) <= told


def is_harmless(text: str) -> bool:
    """Says whether a text has only harmless words, which ask for nothing."""
    return _HARMLESS.issuperset(_WORD.findall(folded(text)))


def take_out(text: str, words: str) -> tuple[str, bool]:
    """Returns a text without the words `words`, and True if it had them as whole words. `text` is folded: in lower case
    with single spaces.
    """
    rest, times = re.subn(rf"(?<!\w){re.escape(folded(words))}(?!\w)", " ", text)
    return rest, times > 0


def _details(text: str, event: ExpectedEvent) -> set[str] | None:
    """Returns the details of an event (`name`, `window`, `wish`, `duration`) that a text tells; None if the text says
    anything else.
    """
    rest, told = folded(text), set()
    for detail, wordings in _wordings(event).items():
        for wording in wordings:
            rest, was_there = take_out(rest, wording)
            if was_there:
                told.add(detail)
                break
    return told if is_harmless(rest) else None


def _wordings(event: ExpectedEvent) -> dict[str, list[str]]:
    """Returns the known wordings of each detail of an event, by the detail: `name`, `window`, `wish`, `duration`.
    Windows come before wishes, which are parts of some of them.
    """
    wishes = [re.sub("^, (and |but )?", "", wish) for wish in WISHES[event.rule.kind] if wish]
    return {
        "name": [event.label],
        "window": [window.format(event.min_time, event.max_time) for window in WINDOWS],
        "wish": [wish.format(*event.rule.name_times()) for wish in wishes],
        "duration": list(ways_to_say(event.duration)),
    }
