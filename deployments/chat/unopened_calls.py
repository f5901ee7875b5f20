"""Tells calls that lack the mark of their beginning from words that look like them: a call is whole, and the mark of its end
is right behind it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from functools import lru_cache
from typing import Any

from ray_gym.deployments.chat.call_pieces import Between, end_of_json, skip_space
from ray_gym.deployments.chat.python_calls import count_calls, split_lines
from ray_gym.models.thoughts import has_mark

MOST_TRIED = 8
"""Lines that look like calls, the first and the last before a mark of an end, that are read up to this mark."""

_KEYS = frozenset({"name", "function"})
"""Keys of a call of JSON that hold its name."""
_MALFORMED = re.compile(r'\[?\s*\{\s*"name"\s*:\s*"[^"\n]*".*[\]}]', re.DOTALL)
"""Call of JSON, well-formed or not."""
_WITH_KEYS = re.compile(r"[\w.-]+\s*(?:<arg_key>.*</arg_value>)?", re.DOTALL)
_WITH_BRACES = re.compile(r"call:[\w.:-]+\s*\{.*\}", re.DOTALL)
_OF_PYTHON = re.compile(r"\[?\s*[^\s(\[]+\s*\(.*\)\s*,?\s*\]?", re.DOTALL)
_LINE_OF_JSON = re.compile(r"(?m:^)[^\S\n]*(?=[{\[])")
_SENTENCE_GOES_ON = re.compile(r"[^\S\n]{0,9}[,.;:!?)]")


def is_whole(read: Between, text: str, start: int, end: int, begin: str) -> bool:
    """Returns True if one or more calls and the mark that ends their frame are at `end` in a text, and they are no example:
    no backquote is before them, and no sentence goes on behind them. `read`: reader of the frame. `start`, `end`: indexes of
    the beginning, as `Frame.when` takes them. `begin`: regular expression of beginnings.
    """
    if _is_quoted(text, start) or _last_end(read.end, text) < end or _is_within_json(text, end):
        return False
    if (stop := _behind_json(read, text, end)) is not None:
        return not _goes_on(read, text, stop)
    stop = _next_end(read, text, end)
    if stop is None or _goes_on(read, text, stop) or not _is_tried(read, text, start, stop, begin):
        return False
    return _is_call(read, text[end:stop].strip())


def is_whole_inside(inner: Between, text: str, start: int, end: int, _begin: str) -> bool:
    """Returns True if one of several calls with marks of their own begins at `end` in a text, and has its end. `inner`: its
    reader. `start`, `end`: as of `is_whole`.
    """
    if _is_quoted(text, start):
        return False
    stop, behind = inner.find_end(text, end, re.escape(inner.begin))
    is_ended = behind > stop
    return is_ended and (inner.to_json is not None or not has_mark(inner.without_values(text[end:stop])))


def _is_quoted(text: str, start: int) -> bool:
    return text[max(start - 1, 0) : start] == "`"


def _goes_on(read: Between, text: str, stop: int) -> bool:
    return _SENTENCE_GOES_ON.match(text, stop + len(read.end)) is not None


@lru_cache(maxsize=8)
def _last_end(end: str, text: str) -> int:
    return text.rfind(end)


def _is_within_json(text: str, place: int) -> bool:
    """Returns True if an object or list of JSON that begins a line goes on at `place`."""
    spans = _lines_of_json(text)
    before = bisect_left(spans, (place, 0)) - 1
    return before >= 0 and place < spans[before][1]


@lru_cache(maxsize=8)
def _lines_of_json(text: str) -> list[tuple[int, int]]:
    """Returns the start and the end of each object or list of JSON in a text that begins a line, and is in no other."""
    spans: list[tuple[int, int]] = []
    for found in _LINE_OF_JSON.finditer(text):
        is_outside = not spans or found.end() >= spans[-1][1]
        if is_outside and (end := end_of_json(text, found.end())) is not None:
            spans.append((found.end(), end))
    return spans


def _behind_json(read: Between, text: str, start: int) -> int | None:
    """Returns the index of the mark of the end behind the JSON that begins at `start`: any object or list right before it, and
    calls before that one, with commas or semicolons between them. Returns None if it is not behind such JSON.
    """
    known, run, found = _ends_of_runs(read.end, text), [], None
    start = skip_space(text, start)
    while start not in known and (end := end_of_json(text, start)) is not None:
        run.append(start)
        behind = skip_space(text, end)
        if text.startswith(read.end, behind):
            found = behind
            break
        if not _has_form_of_call(json.loads(text[start:end])):
            break
        start = skip_space(text, behind + (text[behind : behind + 1] in (",", ";")))
    found = known.get(start, found)
    known.update(dict.fromkeys(run, found))
    return found


@lru_cache(maxsize=8)
def _ends_of_runs(_end: str, _text: str) -> dict[int, int | None]:
    """Returns what `_behind_json` has found in a text, by where JSON begins: a run is read once, not from each of its lines."""
    return {}


def _has_form_of_call(value: Any) -> bool:
    """Returns True if JSON has the name of a tool, {"name": NAME, ...} or {NAME: {...}}, and for a list of such JSON; False for
    other data.
    """
    if isinstance(value, list):
        return bool(value) and all(map(_has_form_of_call, value))
    if not isinstance(value, dict):
        return False
    return not _KEYS.isdisjoint(value) or [type(each) for each in value.values()] == [dict]


def _is_tried(read: Between, text: str, start: int, stop: int, begin: str) -> bool:
    """Returns True if less than `MOST_TRIED` beginnings are before `start`, from the last mark on, or from there to `stop`, so
    that an answer that repeats a beginning is read in linear time.
    """
    begins, marks = _begins(begin, text), _marks(read.begin, read.end, text)
    number = bisect_left(begins, start)
    last = bisect_left(marks, (start, False)) - 1
    before = number - bisect_left(begins, marks[last][0] if last >= 0 else 0)
    return min(before, bisect_left(begins, stop) - number - 1) < MOST_TRIED


@lru_cache(maxsize=8)
def _begins(begin: str, text: str) -> list[int]:
    return [found.start() for found in re.compile(begin).finditer(text)]


def _is_call(read: Between, written: str) -> bool:
    """Returns True if a text is one call, or several calls of Python, and nothing else."""
    if _OF_PYTHON.fullmatch(written):
        bare = written.removeprefix("[").removesuffix("]")
        if all(count_calls(f"call{bracket}{inside}") for _, bracket, inside in map(_parted, split_lines(bare))):
            return True
    is_other = any(form.fullmatch(written) for form in (_MALFORMED, _WITH_KEYS, _WITH_BRACES))
    return is_other and not has_mark(read.without_values(written))


def _parted(call: str) -> tuple[str, str, str]:
    return call.partition("(")


def _next_end(read: Between, text: str, start: int) -> int | None:
    """Returns the index of the first mark of a frame from `start` on, if it is one of an end; else None."""
    marks = _marks(read.begin, read.end, text)
    place = bisect_left(marks, (start, False))
    return marks[place][0] if place < len(marks) and marks[place][1] else None


@lru_cache(maxsize=8)
def _marks(begin: str, end: str, text: str) -> list[tuple[int, bool]]:
    """Returns the indices of marks in a text, in order, each with True if it is one of an end."""
    marks = re.compile(f"(?<!`)({re.escape(end)})|{re.escape(begin)}")
    return [(found.start(), found[1] is not None) for found in marks.finditer(text)]
