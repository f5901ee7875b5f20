"""Finds values that stand between tags, and hides the marks of calls that a value quotes: vLLM's parsers take them for marks,
so that they would cut the value, and carry out a call that is only quoted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_STAND_IN = "\ufdd1"
"""Stands for the first character of a hidden mark: a noncharacter of Unicode, which no text has."""


@dataclass(frozen=True, slots=True)
class Tags:
    """Holds the tags of a format whose values stand between two of them, which may be the same."""

    begin: str
    """Beginning of a value, such as <parameter=."""
    end: str
    call_begin: str
    """Beginning of the call that the values are in, such as <function=."""
    call_end: str
    marks: str
    """Regular expression of all marks that the parser would take for marks in a value, too. Each has a `<`; a value begins
    with one, and ends with one.
    """

    @property
    def value(self) -> str:
        """Returns the regular expression of a value with its tags. It may quote whole calls, and marks of calls, but no other
        value begins in it: then its end was forgotten. Where the two tags are the same, no call ends in it.
        """
        begin, end, call_begin, call_end = map(re.escape, (self.begin, self.end, self.call_begin, self.call_end))
        flat = rf"{begin}(?:(?!{begin}|{end}).)*{end}"
        call = rf"{call_begin}(?>{flat}|(?!{call_begin}|{call_end}|{begin}|{end}).)*{call_end}"
        forgotten = f"{begin}|{call_end}" if begin == end else begin
        return rf"{begin}(?>{call}|(?!{forgotten}).)*?{end}"

    def hide(self, call: str) -> str:
        """Returns a call with a stand-in for a character of each mark within a value (see `reveal`)."""
        return hide_quoted(call, self.value, self.marks)


def hide_quoted(call: str, value: str, marks: str) -> str:
    """Returns a call with a stand-in for a character of each mark of its values but their first and their last.

    `value`: regular expression of a value, which begins with a mark and ends with one. `marks`: regular expression of
    marks, each of which has a `<`.
    """
    return re.sub(value, lambda found: _hide_inside(found[0], marks), call, flags=re.DOTALL)


def _hide_inside(value: str, marks: str) -> str:
    first, *_, last = re.finditer(marks, value)
    inside = re.sub(marks, lambda mark: mark[0].replace("<", _STAND_IN, 1), value[first.end() : last.start()])
    return value[: first.end()] + inside + value[last.start() :]


def reveal(text: str) -> str:
    """Returns a text with the marks that were hidden in it."""
    return text.replace(_STAND_IN, "<")
