"""Finds values that stand between tags, and hides the marks of calls that a value quotes: vLLM's parsers take them for marks,
so that they would cut the value, and carry out a call that is only quoted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_STAND_IN = "\ue001"
"""Stands for the first character of a hidden mark: a private character of Unicode, which no model writes."""
_VALUE = re.compile(r"(?P<begin>[^>]*>)(?P<inside>.*)(?P<end><[^<]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tags:
    """Holds the tags of a format whose values stand between two of them. All marks begin with `<`."""

    begin: str
    """Beginning of a value, such as <parameter=."""
    end: str
    call_begin: str
    """Beginning of the call that the values are in, such as <function=."""
    call_end: str
    marks: str
    """Regular expression of all marks that the parser would take for marks in a value, too."""

    @property
    def value(self) -> str:
        """Returns the regular expression of a value with its tags. It may quote whole calls, and marks of calls, but no other
        value begins in it: then its end was forgotten.
        """
        begin, end, call_begin, call_end = map(re.escape, (self.begin, self.end, self.call_begin, self.call_end))
        flat = rf"{begin}(?:(?!{begin}|{end}).)*{end}"
        call = rf"{call_begin}(?>{flat}|(?!{call_begin}|{call_end}|{begin}|{end}).)*{call_end}"
        return rf"{begin}(?>{call}|(?!{begin}).)*?{end}"

    def hide(self, call: str) -> str:
        """Returns a call with a stand-in for the first character of each mark within a value (see `reveal`)."""
        return re.sub(self.value, lambda value: _VALUE.sub(self._hide_inside, value[0]), call, flags=re.DOTALL)

    def _hide_inside(self, value: re.Match[str]) -> str:
        inside = re.sub(self.marks, lambda mark: _STAND_IN + mark[0][1:], value["inside"])
        return value["begin"] + inside + value["end"]


def reveal(text: str) -> str:
    """Returns a text with the marks that were hidden in it."""
    return text.replace(_STAND_IN, "<")
