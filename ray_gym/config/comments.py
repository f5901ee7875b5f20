"""Finds texts in YAML that YAML takes for comments, so that a value would be lost or cut without a word.

YAML begins a comment at each # behind a space: `stop_text: DONE ###STOP###` has the value DONE. A comment that looks
like a text and stands where a text may be is a `LostText`; all others stay comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

_MARKED = r"##+[^\s#]|#.*\s#+$|##+.*[^#]##+$"
"""Comments with several # at once before a text, or with # at both ends: ##END, ### STOP ###, # STOP #."""
_BEHIND_A_TEXT = re.compile(rf"{_MARKED}|#[^\s#]|#+$")
"""Comments on the line of a text or of a missing one that look like a text: #STOP, ###STOP###, #."""
_ON_ITS_OWN_LINE = re.compile(rf"{_MARKED}|#[^\s:#]+$")
"""Comments below a text or a missing one that look like a text. Keys that are commented out (`#limit: 8`) are none."""
_IN_BRACKETS = re.compile(rf"{_MARKED}|#\S.*[\]}}]")
"""Comments between brackets that look like a text, or that hide the closing bracket: `[#STOP]`."""
_NUMBER = re.compile(r"[-+]?[\d.]+[eE][-+]?\d+")
"""Numbers that OmegaConf reads and PyYAML does not."""
_RESOLVER: Any = yaml.resolver.Resolver()
_BRACKETS = (yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken)
_BEFORE_A_VALUE = (yaml.ValueToken, yaml.BlockEntryToken, yaml.AnchorToken, yaml.TagToken)


class LostText(NamedTuple):
    """A lost text is one that YAML takes for a comment."""

    line: int
    """Number of its line, from 1."""
    key: str
    """Key whose value it would be, or be a part of; empty if there is none."""
    text: str
    is_cut: bool
    """True if the rest of the value is left, False if the key or an item has no value."""

    @property
    def complaint(self) -> str:
        """Returns the mistake and its fix, in words."""
        key = self.key or "the text"
        if self.is_cut:
            fix = "put it in quotes (a comment has a space behind its #)"
            return f"YAML takes {self.text} for a comment, so {key} is cut before it; {fix}"
        return f"YAML takes {self.text} for a comment, so {key} has no value; put it in quotes"


class _Place(NamedTuple):
    """A place is where a value may stand: behind a key or the dash of a list's item."""

    column: int
    key: str
    """Key of the value, or of the list that the value is an item of."""


def lost_texts(text: str) -> Iterator[LostText]:
    """Yields the texts in YAML that are lost as comments, in order, up to where it is no YAML."""
    places = [_Place(-1, "")]
    before: yaml.Token | None = None
    for token in _tokens(text):
        if before is not None and "#" in text[before.end_mark.index : token.start_mark.index]:
            yield from _lost_between(text, before, token, places[-1])
        column = token.start_mark.column
        if isinstance(token, yaml.ScalarToken) and isinstance(before, yaml.KeyToken):
            places = [*_left_of(column, places), _Place(column, token.value)]
        elif isinstance(token, yaml.BlockEntryToken):
            key = _left_of(column + 1, places)[-1].key
            places = [*_left_of(column, places), _Place(column, key)]
        before = token


def _left_of(column: int, places: list[_Place]) -> list[_Place]:
    """Returns the places, of which the first is everything, that a place at a column may be inside of."""
    return [place for place in places if place.column < column]


def _tokens(text: str) -> Iterator[yaml.Token]:
    """Yields the tokens of a text, up to where it is no YAML."""
    try:
        yield from yaml.scan(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return


def _lost_between(text: str, before: yaml.Token, after: yaml.Token, place: _Place) -> Iterator[LostText]:
    """Yields the texts that are lost between two tokens next to each other, of which the first stands at a place."""
    patterns = _patterns(before, after)
    if patterns is None:
        return
    on_the_line, below = patterns
    first, *rest = text[before.end_mark.index : after.start_mark.index].splitlines()
    is_cut = isinstance(before, yaml.ScalarToken) or isinstance(after, yaml.ScalarToken)
    line = before.end_mark.line + 1
    if on_the_line.match(first.strip()):
        yield LostText(line, place.key, first.strip(), is_cut)
    for number, comment in enumerate(rest, line + 1):
        inside = comment.lstrip()
        if len(comment) - len(inside) > place.column and below.match(inside.rstrip()):
            yield LostText(number, place.key, inside.rstrip(), is_cut)


def _patterns(before: yaml.Token, after: yaml.Token) -> tuple[re.Pattern[str], re.Pattern[str]] | None:
    """Returns what comments between two tokens look like if they are lost texts: on the line of the first token, and on
    lines of their own. Returns None where no text may be.
    """
    if isinstance(before, (*_BRACKETS, yaml.FlowEntryToken)):
        return _IN_BRACKETS, _IN_BRACKETS
    if isinstance(before, yaml.ScalarToken):
        may_go_on = before.plain and _is_text(before.value)
    else:
        may_go_on = isinstance(before, _BEFORE_A_VALUE) and not _begins_a_block(before, after)
    return (_BEHIND_A_TEXT, _ON_ITS_OWN_LINE) if may_go_on else None


def _begins_a_block(before: yaml.Token, after: yaml.Token) -> bool:
    """Says whether the value between a key or a dash and the next token is a list, a mapping or a text in quotes."""
    if isinstance(after, yaml.BlockEntryToken):
        return not isinstance(before, yaml.BlockEntryToken)
    if isinstance(after, yaml.ScalarToken):
        return not after.plain
    return isinstance(after, (*_BRACKETS, yaml.BlockMappingStartToken, yaml.BlockSequenceStartToken))


def _is_text(plain: str) -> bool:
    """Says whether a value without quotes is a text: no number, no date, not true, false or null."""
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, plain, (True, False))
    return tag.endswith(":str") and not _NUMBER.fullmatch(plain)
