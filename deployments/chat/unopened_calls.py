"""Tells calls that lack the mark of their beginning from words that look like them: a call is whole, and the mark of its end
is right behind it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache

from ray_gym.deployments.chat.call_pieces import Between, end_of_json, skip_space
from ray_gym.deployments.chat.python_calls import count_calls, split_lines
from ray_gym.models.thoughts import has_mark

_OF_JSON = re.compile(r'\s*(?:\[|\{\s*"(?:name|function|type|arguments|parameters)")')
"""Beginning of calls of JSON, and no other data."""
_MALFORMED = re.compile(r'\[?\s*\{\s*"name"\s*:\s*"[^"\n]*".*[\]}]', re.DOTALL)
"""Call of JSON, well-formed or not."""
_WITH_KEYS = re.compile(r"[\w.-]+\s*(?:<arg_key>.*</arg_value>)?", re.DOTALL)
_WITH_BRACES = re.compile(r"call:[\w.:-]+\s*\{.*\}", re.DOTALL)
_OF_PYTHON = re.compile(r"\[?\s*[^\s(\[]+\s*\(.*\)\s*,?\s*\]?", re.DOTALL)
_SENTENCE_GOES_ON = re.compile(r"[^\S\n]{0,9}[,.;:!?)]")


def is_whole(read: Between, text: str, start: int, end: int, _begin: str) -> bool:
    """Returns True if one or more calls and the mark that ends their frame are at `end` in a text, and they are no example:
    no backquote is before them, and no sentence goes on behind them. `read`: reader of the frame. `start`, `end`: indexes of
    the beginning, as `Frame.when` takes them.
    """
    if _is_quoted(text, start) or text.find(read.end, end) < 0:
        return False
    stop = _behind_json(text, end) if _OF_JSON.match(text, end) else None
    if stop is None or not text.startswith(read.end, stop):
        stop = _next_end(read, text, end)
        if stop is None or not _is_call(read, text[end:stop].strip()):
            return False
    return not _SENTENCE_GOES_ON.match(text, stop + len(read.end))


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


def _behind_json(text: str, start: int) -> int | None:
    """Returns the index behind the objects and lists of JSON, with commas or semicolons between them, that begin at `start`,
    and behind the space there; None if there is none.
    """
    known, run = _ends_of_runs(text), []
    behind, start = None, skip_space(text, start)
    while start not in known and (end := end_of_json(text, start)) is not None:
        run.append(start)
        behind = skip_space(text, end)
        start = skip_space(text, behind + (text[behind : behind + 1] in (",", ";")))
    behind = known.get(start, behind)
    known.update(dict.fromkeys(run, behind))
    return behind


@lru_cache(maxsize=8)
def _ends_of_runs(text: str) -> dict[int, int | None]:
    """Returns what `_behind_json` has found in a text, by where an object begins: a run is read once, not from each of its lines."""
    return {}


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
