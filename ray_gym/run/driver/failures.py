"""Counts failures by their kind, so that many alike are told in a line."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

LONGEST_QUOTED = 40
"""Most characters of a text in quotes in a failure: longer ones differ from episode to episode."""
_PLACE = re.compile(r" \(.+:\d+\)$", re.DOTALL)
"""Place in an author's code, at the end of what says where a failure was."""
_EXCEPTION = re.compile(r"[A-Za-z_]\w*(?=: |$)")
"""Type of an exception, at the beginning of a failure's message."""
_NUMBER = re.compile(r"\d+(\.\d+)?")
_VARYING = re.compile(r"(?<!\w)(['\"]).*?\1(?!\w)|(?<![\w-])[\w-]*\d(?:[\w-]|\.\d)*", re.DOTALL)
"""Quoted values, and words with a digit: numbers, addresses of objects, ids of requests."""
_QUOTED = re.compile(rf"(['\"])((?:(?!\1).){{{LONGEST_QUOTED + 1}}}).*?\1", re.DOTALL)


def shorten(failure: str) -> str:
    """Returns a failure with its long quotations cut, so that equal failures of several episodes are counted as one."""
    return _QUOTED.sub(lambda found: f"{found[1]}{found[2][:LONGEST_QUOTED]}...{found[1]}", failure)


def kind_of(failure: str) -> str:
    """Returns what failures of one kind have in common: where they were, without numbers but for a line of code, and the
    type of the exception if it has such a line; else the message without the values that it tells.
    """
    where, _, message = failure.partition(": ")
    is_placed = _PLACE.search(where) is not None
    if is_placed and (exception := _EXCEPTION.match(message)):
        return f"{where}: {exception[0]}"
    return f"{where if is_placed else _NUMBER.sub('#', where)}: {_VARYING.sub('#', message)}"


@dataclass(slots=True)
class FailureCounts:
    """Counts failures by their kind, of which it keeps the first failure's text."""

    most: int | None = None
    """Most kinds that are counted; None means no limit."""
    _counts: Counter[str] = field(default_factory=Counter)
    """Failures of each kind."""
    _first: dict[str, str] = field(default_factory=dict)
    """Text of the first failure of each kind that has words, if one has."""
    _mixed: set[str] = field(default_factory=set)
    """Kinds with failures whose words differ from the first one's, not only the values in them."""

    def add(self, failure: str, sign: int = 1) -> None:
        """Adds a failure to the counts, or with `sign` -1 takes it out again."""
        kind, text = kind_of(failure), shorten(failure)
        if kind not in self._first and self.most is not None and len(self._first) >= self.most:
            return
        self._counts[kind] += sign
        first = self._first.setdefault(kind, text)
        if kind not in self._mixed and _VARYING.sub("#", first) != _VARYING.sub("#", text):
            self._mixed.add(kind)
        if first == kind:  # it has no words
            self._first[kind] = text

    def told(self) -> Counter[str]:
        """Returns the number of failures by the text of the first of their kind, which is called an example (`e.g.`) if
        others say something else.
        """
        return Counter({self._text(kind): count for kind, count in (+self._counts).items()})

    def _text(self, kind: str) -> str:
        first = self._first[kind]
        return f"{kind}, e.g. {first.removeprefix(kind).removeprefix(': ')}" if kind in self._mixed else first
