"""Compares answers in words: `even`, `n is even`, a label (`Team 5`), a date or a time of day. None of them is an expression."""

from __future__ import annotations

import re

from ray_gym.envs.math.doubted import is_doubted
from ray_gym.envs.math.scripts import EAST_ASIAN, LETTER
from ray_gym.graders import folded
from ray_gym.graders.replaced import is_own

_WORDS = re.compile(rf"(?:{LETTER}| ){{3,}}|[Nn][Oo]|(?=.?[^\x00-\x7f]){LETTER}{{2}}|[{EAST_ASIAN}]")
"""Words in any letters. Two other letters that are on an English keyboard may be variables, as one of any alphabet may be."""
_OTHER_LETTERS = re.compile(rf"(?![A-Za-z]){LETTER}")
_LABEL = re.compile(r"[A-Z][a-z]{2,20}(?: [A-Za-z]{1,20}){0,4} \d{1,4}")
_STATEMENT = re.compile(rf"[A-Za-z] (?:is|are|must be|has to be) (?P<what>(?:{LETTER}| ){{3,}})")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"\d{1,2}(?:\^?\{?(?:st|[nr]d|th)\}?)?"
_DATE = re.compile(
    rf"(?:[a-z]{{3,6}}day,? )?(?:{_MONTH} {_DAY}|(?:the )?{_DAY}(?: of)? {_MONTH})(?:,? \d{{4}})?|{_MONTH} \d{{4}}",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(\d{1,2})(?: ?: ?([0-5]\d)(?: ?: ?([0-5]\d))?| {0,3}(o['\u2019]? ?clock))?(?: {0,3}([ap])\.? ?m\.?)?",
    re.IGNORECASE,
)
_ASKS_FOR_TIME = re.compile(r"\b(?:time|when|clock|hour|o['\u2019]clock)\b(?!s)", re.IGNORECASE)
_TEXT = re.compile(r"\\text\{([^{}]*)\}")
_ANNOUNCED = re.compile(
    r"(?i:(?<![^\W_])(?:answer|correct\s(?:option|choice))(?:\s+is\b[*_`]{0,3}:?|[*_`]{0,3}\s?[:\uff1a]))[\s*_`\"]{0,9}([^\n]{1,80}?)[\s*_`\".]{0,9}\Z"
)
_MOST = 200
"""Number of characters at the end of an answer in which announced words are looked for."""
_ONLY_TEXT = re.compile(r"(?:\\text\{[^{}]*\}|[\d\s,])*")


def are_same_words(expected: str, answer: str) -> bool | None:
    """Says whether an answer has the words, the date or the time of day that are expected; None if the expected answer is
    an expression. A time without `a.m.` or `p.m.` is the same as one with it.
    """
    plain, given = (" ".join(_TEXT.sub(r"\1", text).split()).rstrip(".,") for text in (expected, answer))
    if _is_time_of_day(plain) or _is_time_of_day(given):
        wanted, told = _TIME.fullmatch(plain), _TIME.fullmatch(given)
        return _are_same_times(wanted, told) if wanted is not None and told is not None else None
    if (said := _STATEMENT.fullmatch(plain)) is not None:
        return folded(given) in (folded(plain), folded(said["what"]))
    if _TEXT.search(expected) and not _ONLY_TEXT.fullmatch(expected):
        return None
    if _DATE.fullmatch(plain):
        return _DATE.fullmatch(given) is not None and _date(plain) == _date(given)
    if _OTHER_LETTERS.search(plain) and folded(plain) == folded(given):
        return True
    if _WORDS.fullmatch(plain) or _LABEL.fullmatch(plain):
        return folded(plain) == folded(given)
    return None


def announced_words(expected: str, answer: str) -> str | None:
    """Returns what an answer ends with behind `Answer:` or `answer is` (`announced_end`); None without one, or if the
    expected answer is an expression.
    """
    return None if are_same_words(expected, expected) is None else announced_end(answer)


def announced_end(answer: str) -> str | None:
    """Returns what an answer ends with behind `Answer:`, `answer is` or `correct option is`; None if there is none, or
    words before it doubt it or give it as another's.
    """
    end = answer[-_MOST:]
    found = _ANNOUNCED.search(end)
    if found is None or is_doubted(end[: found.start()]) or not is_own(end, found.start()):
        return None
    return found[1]


def asks_for_time(question: str) -> bool:
    """Says whether a question may ask for a time of day; also none may."""
    return not question or _ASKS_FOR_TIME.search(question) is not None


def _is_time_of_day(text: str) -> bool:
    found = _TIME.fullmatch(text)
    return found is not None and (found[4] is not None or (found[2] is not None and found[5] is not None))


def _are_same_times(one: re.Match[str], other: re.Match[str]) -> bool:
    hours = [(int(time[1]), int(time[2] or 0), int(time[3] or 0)) for time in (one, other)]
    halves = {time[5].lower() for time in (one, other) if time[5]}
    return hours[0] == hours[1] and len(halves) < 2


def _date(text: str) -> list[str]:
    """Returns the parts of a date, in an order of their own; months by their first letters."""
    parts = re.findall(r"[a-z]{3,}|\d+", text.lower())
    return sorted(part if part.isdigit() else part[:3] for part in parts if part != "the")
