"""Finds the ends of calls in a model's answer, and parts several calls that are within one frame.

A call may be malformed. Then it ends where the next one begins, or with its frame, so that it spoils no other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from ray_gym.deployments.chat.python_calls import (
    NEVER,
    end_of_list,
    find_call_end,
    find_list_end,
    spell_as_json,
    spell_call,
    split_calls,
)

_OBJECT_OF_CALL = re.compile(r'\{\s*"(?:name|type|function|arguments|parameters)"')
_NEXT_OBJECT = re.compile(rf",\s*(?={_OBJECT_OF_CALL.pattern})")
_NEXT_LINE = re.compile(rf"(?<=\}})[ \t]*\n(?={_OBJECT_OF_CALL.pattern})")
_NEXT_NAMED = re.compile(r',\s*(?=\{\s*"[^"\n]*"\s*:\s*\{)')
_LONGEST_END = 200
"""Number of characters at the end of a frame in which its end is looked for."""
_OPENING = re.compile(r"[{\[(]|<\w")
_WORDS = re.compile(r"\s*+[^\s<>|{}\[\]()]++\s++[^<>|{}\[\]()]*")
"""Two words or more between calls, and no rest of a mark."""
_SPACE = re.compile(r"\s*")
_decode = json.JSONDecoder().raw_decode


class Attempt(NamedTuple):
    """Holds one call that a model began, well-formed or not."""

    alone: str
    """Text that the parser reads as this call and no other, if it is well-formed; "" if it would read another call."""
    written: str
    """The call as the model wrote it, without what is around it."""
    id: str = ""
    """Id that the model wrote for the call, if the parser reads none."""
    is_ended: bool = True
    """False if the call is between two marks, and the model did not write the second."""
    words: str = ""
    """Words that the model wrote within the frame that begins with this call, beside its calls."""

    @property
    def is_respelled(self) -> bool:
        """Returns True if the parser reads the call otherwise where it stands than alone."""
        return self.written not in self.alone


Reader = Callable[[str, int, str], tuple[list[Attempt], int]]
"""Reads a frame: takes a text, the index behind the frame's beginning, and the regular expression of beginnings; returns
the attempts in the frame, at least one, and the index behind it.
"""


Spell = Callable[[str], str | None]
"""Writes a call as the parser reads it as it is meant; returns None if it reads another."""


@dataclass(frozen=True, slots=True)
class Between:
    """Reads a frame that is between two marks."""

    begin: str
    end: str
    value: str = NEVER
    """Regular expression of a value within a call, in which a mark is text."""
    to_json: str | None = None
    """Regular expression of what is before a call's JSON, in which a mark is text; None if it has none."""
    inner: Between | None = None
    """Marks of each of several calls, if they have marks of their own."""
    parts: Callable[[str], list[str]] | None = None
    """Parts the calls that have no marks of their own."""
    brackets: tuple[str, str] = ("", "")
    """Text that the parser asks for around such a call, beside the marks."""
    echo: str = ""
    """Regular expression of what belongs to the frame behind its end."""
    spell: Spell | None = None
    """Writes a call anew that the parser would misread."""
    around: tuple[str, str] = ("", "")
    """Text that the parser asks for around the marks."""

    def __call__(self, text: str, start: int, again: str) -> tuple[list[Attempt], int]:
        """Returns the attempts in the frame, and the index behind it (see `Reader`)."""
        stop, end = self.find_end(text, start, again)
        words = ""
        if self.inner is not None:
            written, words = self._inner_calls(self.inner, text, start, stop, again)
        else:
            written = self.parts(text[start:stop]) if self.parts else [text[start:stop]]
        before = self.around[0] + self.begin + self.brackets[0]
        after = self.brackets[1] + self.end + self.around[1]
        made = [_attempt(before, each, after, self.spell) for each in written or [text[start:stop]]]
        attempts = [attempt._replace(is_ended=end > stop) for attempt in made]
        attempts[0] = attempts[0]._replace(words=words)
        behind = _compile(self._behind).match(text, end)
        return attempts, behind.end() if behind else end

    def alone(self) -> Between:
        """Returns the reader of one of several calls with marks of their own, which has none of the frame's around it."""
        assert self.inner is not None
        spell, echo = self.inner.spell or self.spell, rf"\s*{re.escape(self.end)}"
        return replace(self.inner, spell=spell, echo=echo, around=(self.begin, self.end))

    @property
    def ends(self) -> tuple[str, ...]:
        """Returns the marks that end the frame, or a call in it."""
        return (self.end, *self.inner.ends) if self.inner else (self.end,)

    def is_closed(self, frame: str) -> bool:
        """Returns True if a frame has its end, perhaps with an echo behind it."""
        end = rf"(?:{'|'.join(map(re.escape, self.ends))}|{self.echo or NEVER})\s*\Z"
        return _compile(end).search(frame, max(0, len(frame) - _LONGEST_END)) is not None

    def without_values(self, call: str) -> str:
        """Returns the text of a call without the values in it."""
        return _compile(self.value).sub("", call)

    @property
    def _behind(self) -> str:
        """Returns the regular expression of what belongs to the frame behind its end: its echo, and ends too many."""
        return rf"(?:\s*(?:{'|'.join(map(re.escape, self.ends))})|{self.echo or NEVER})*"

    def find_end(self, text: str, start: int, others: str) -> tuple[int, int]:
        """Returns the index where the frame's inside ends, and the index behind its end mark. `others`: regular
        expression of the marks that end it, too, and do not belong to it.
        """
        position = start
        if self.to_json is not None and (found := _compile(self.to_json).match(text, start)) is not None:
            position = end_of_json(text, found.end()) or start
        inner = re.escape(self.inner.begin) if self.inner else NEVER
        marks = _compile(f"(?P<value>{self.value})|(?P<inner>{inner})|(?P<end>{re.escape(self.end)})|(?:{others})")
        while (found := marks.search(text, position)) is not None:
            if found.lastgroup == "value":
                position = found.end()
            elif found.lastgroup == "inner" and self.inner is not None:
                position = self.inner.find_end(text, found.end(), self._others(others))[1]
            else:
                return found.start(), found.end() if found.lastgroup == "end" else found.start()
        return len(text), len(text)

    def _inner_calls(self, inner: Between, text: str, start: int, stop: int, again: str) -> tuple[list[str], str]:
        """Returns the calls between `start` and `stop`: those with marks of their own, and the texts between them that
        may be calls without these marks; and the words between them.
        """
        begin = _compile(re.escape(inner.begin))
        calls: list[str] = []
        others: list[str] = []
        while (found := begin.search(text, start, stop)) is not None:
            end = inner.find_end(text, found.end(), self._others(again))[1]
            others.append(text[start : found.start()])
            calls += [*_between_calls(others[-1]), text[found.start() : end]]
            start = end
        others.append(text[start:stop])
        words = [other.strip() for other in others if calls and _WORDS.fullmatch(other)]
        return calls + _between_calls(others[-1]), "\n".join(words)

    def _others(self, others: str) -> str:
        """Returns the regular expression of the marks that end one of the inner calls, beside its own end."""
        assert self.inner is not None
        return f"{re.escape(self.inner.begin)}|{re.escape(self.end)}|{others}"


@dataclass(frozen=True, slots=True)
class Suffixed:
    """Reads a frame whose marks all end with the suffix that the mark of its beginning has, as <tool_calls:SUFFIX>."""

    begin: str
    """Beginning of the mark: what is before the suffix."""
    make: Callable[[str], Between]
    """Makes the reader of the marks with a suffix."""

    def __call__(self, text: str, start: int, again: str) -> tuple[list[Attempt], int]:
        """Returns the attempts in the frame, and the index behind it (see `Reader`)."""
        return self.reader(text, start)(text, start, again)

    def is_closed(self, frame: str) -> bool:
        """Returns True if a frame has its end."""
        return self.reader(frame, frame.index(">") + 1).is_closed(frame)

    def reader(self, text: str, start: int) -> Between:
        """Returns the reader of the frame whose beginning ends at `start`."""
        return self.make(text[text.rindex(self.begin, 0, start) + len(self.begin) : start].removesuffix(">"))


@dataclass(frozen=True, slots=True)
class ObjectOfJson:
    """Reads calls that end with their JSON. A malformed one goes on to the next call, or to the end of the text."""

    before: str = ""
    """Text that the parser asks for before the call."""
    to_json: str = ""
    """Regular expression of what is before the JSON."""
    behind: str = ""
    """Regular expression of what belongs to the frame behind the JSON."""
    end: str = NEVER
    """Regular expression of what ends a malformed call, too, and does not belong to it."""
    more: str = NEVER
    """Regular expression of what is between a call and another one without a mark of its own."""
    own_id: str = NEVER
    """Regular expression whose first group is the id that the model wrote for the call."""
    spell: Spell | None = None
    """Writes a call anew that the parser would misread."""

    def __call__(self, text: str, start: int, again: str) -> tuple[list[Attempt], int]:
        """Returns the attempts, and the index behind them (see `Reader`)."""
        attempts: list[Attempt] = []
        while True:
            stop, end = self._find_end(text, start, again)
            attempt = _attempt(self.before, text[start:stop], "", self.spell)
            own_id = _compile(self.own_id).match(text, start, stop)
            attempts.append(attempt._replace(id=own_id[1]) if own_id else attempt)
            if (more := _compile(self.more).match(text, end)) is None:
                return attempts, end
            start = more.end()

    def _find_end(self, text: str, start: int, again: str) -> tuple[int, int]:
        """Returns the index where the call ends that begins at `start`, and the index behind what belongs to it."""
        found = _compile(self.to_json).match(text, start)
        stop = end_of_json(text, found.end()) if found else None
        if stop is None:
            following = _compile(f"(?:{again})|{self.end}|{self.more}").search(text, start + 1)
            stop = following.start() if following else len(text)
            return stop, stop
        behind = _compile(self.behind).match(text, stop)
        return stop, behind.end() if behind else stop


@dataclass(frozen=True, slots=True)
class ListOfJson:
    """Reads a JSON list of calls, behind its opening bracket."""

    before: str
    after: str = "]"
    keys: tuple[str, ...] = ("arguments",)
    """Keys under which the parser looks for the arguments of a call."""
    behind: str = NEVER
    """Regular expression of what belongs to the frame behind the list."""

    def __call__(self, text: str, start: int, again: str) -> tuple[list[Attempt], int]:
        """Returns the attempts in the list, and the index behind it (see `Reader`)."""
        following = None
        if end_of_json(text, start - 1) is None:  # it is malformed: the next frame may be taken for a part of it
            following = _compile(again).search(text, _behind_objects(text, start))
        written, end = split_objects(text[: following.start()] if following else text, start)
        behind = _compile(self.behind).match(text, end)
        attempts = [_attempt(self.before, each, self.after, self._spell) for each in written or [""]]
        return attempts, behind.end() if behind else end

    def _spell(self, call: str) -> str | None:
        """Returns a call; None if its arguments are under another key, or under two (see `Spell`)."""
        try:
            given = json.loads(call)
        except (ValueError, RecursionError):
            return call
        if not isinstance(given, dict):
            return call
        others = [value for key, value in given.items() if key not in ("name", "type", "id")]
        has_arguments = not given.keys().isdisjoint(self.keys) or not any(others)
        return call if has_arguments and not given.keys() >= {"arguments", "parameters"} else None


def read_python_list(text: str, start: int, again: str) -> tuple[list[Attempt], int]:
    """Returns the attempts in a list of Python calls, behind its opening bracket, and the index behind it (see
    `Reader`).
    """
    stop, end = find_list_end(text, start, again)
    attempts = [_attempt("[", each, "]", spell_call) for each in split_calls(text[start:stop].strip())]
    return attempts, end_of_list(text, end, again)


def read_python_call(text: str, start: int, _again: str) -> tuple[list[Attempt], int]:
    """Returns the attempt at a call NAME.call(KEY=VALUE), which the parser reads as JSON, and the index behind it (see
    `Reader`).
    """
    end = find_call_end(text, start)
    behind = _compile(r"\s*;").match(text, end)
    return [_attempt("", text[start:end], "", spell_as_json)], behind.end() if behind else end


def end_of_json(text: str, start: int) -> int | None:
    """Returns the index behind the object or list of JSON that begins at `start`; None if none does."""
    if text[start : start + 1] not in ("{", "["):
        return None
    try:
        return _decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def split_objects(text: str, start: int, next_object: re.Pattern[str] = _NEXT_OBJECT) -> tuple[list[str], int]:
    """Returns the items of a JSON list of objects, behind its opening bracket, and the index behind the list. An item
    that is malformed ends where another object begins that looks like a call, or else with the text's last bracket. A
    list without a bracket at its end goes to the end of the text, or to the words behind its last item.

    `next_object`: matches before an object that looks like a call.
    """
    items: list[str] = []
    position = start
    while True:
        position = skip_space(text, position)
        if text[position : position + 1] in ("]", ""):
            return items, min(position + 1, len(text))
        end = end_of_json(text, position)
        if end is not None and _ends_in_words(text, end):
            return [*items, text[position:end].strip()], end
        if end is None or _after(text, end) not in (",", "]", ""):
            following = next_object.search(text, position)
            last = text.rfind("]", position)
            end = following.start() if following else last if last >= 0 else len(text)
        items += filter(None, [text[position:end].strip()])
        position = skip_space(text, end)
        position += text[position : position + 1] == ","


def split_json(text: str) -> list[str]:
    """Returns the calls in a text that is a JSON list of objects, of which a bracket may be missing."""
    return split_objects(text.lstrip().removeprefix("["), 0)[0]


def split_whole_json(text: str) -> list[str]:
    """Returns the calls in a text that is several calls of JSON, one behind the other, or a list of calls; the text alone
    if it is anything else. A call that is malformed goes on to one that begins a line, or to the end.
    """
    inside = text.strip()
    is_list = inside.startswith("[") and inside.endswith("]")
    rest = inside[1:-1] if is_list else inside
    calls: list[str] = []
    position = skip_space(rest, 0)
    while position < len(rest):
        if not _OBJECT_OF_CALL.match(rest, position):
            return [text]
        well_formed = end_of_json(rest, position)
        end = well_formed or _end_of_malformed(rest, position)
        if not (well_formed or calls) and end == len(rest):
            return [text]
        calls.append(rest[position:end])
        position = skip_space(rest, end)
        position = skip_space(rest, position + (rest[position : position + 1] in (",", ";")))
    return calls if len(calls) > 1 or (calls and is_list) else [text]


def _end_of_malformed(text: str, start: int) -> int:
    """Returns the index where a malformed call ends that begins at `start`: before a line that begins another, behind a
    brace, or else at the end of the text.
    """
    following = _NEXT_LINE.search(text, start)
    return following.start() if following else len(text)


def split_named_json(text: str) -> list[str]:
    """Returns the calls in a text that is a JSON list of objects {NAME: {...}}, of which a bracket may be missing. An object
    of several names is as many calls.
    """
    written = split_objects(text.lstrip().removeprefix("["), 0, _NEXT_NAMED)[0]
    return [call for one in written for call in _each_named(one)]


def _each_named(written: str) -> list[str]:
    """Returns an object {NAME: {...}, NAME: {...}} as an object for each name; others as they are."""
    calls, position = [], 1
    while end_of_json(written, 0) == len(written):
        try:
            _, behind = _decode(written, start := skip_space(written, position))
            value = skip_space(written, skip_space(written, behind) + 1)
        except (ValueError, RecursionError):
            break
        end = end_of_json(written, value)
        if end is None or _after(written, behind) != ":" or _after(written, end) not in (",", "}"):
            break
        calls.append(f"{{{written[start:end]}}}")
        position = skip_space(written, end) + 1
        if _after(written, end) == "}":
            return calls
    return [written]


def _attempt(before: str, call: str, after: str, spell: Spell | None) -> Attempt:
    spelled = spell(call) if spell else call
    return Attempt("" if spelled is None else before + spelled + after, call.strip())


def _behind_objects(text: str, start: int) -> int:
    """Returns the index behind the objects of JSON with commas between them that begin at `start`."""
    while (end := end_of_json(text, skip_space(text, start))) is not None:
        start = skip_space(text, end)
        start += text[start : start + 1] == ","
    return start


def _ends_in_words(text: str, end: int) -> bool:
    """Returns True if words follow the item of a list that ends at `end`, and nothing behind it looks like a call."""
    return _after(text, end).isalpha() and not _OBJECT_OF_CALL.search(text, end)


def _between_calls(text: str) -> list[str]:
    """Returns a text between calls with marks if it may be a call; [] if it is whitespace or the rest of a mark."""
    return [text] if _OPENING.search(text) else []


def skip_space(text: str, position: int) -> int:
    """Returns the index of the first character from `position` on that is no whitespace."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _after(text: str, position: int) -> str:
    """Returns the first character from `position` on that is no whitespace; "" if there is none."""
    place = skip_space(text, position)
    return text[place : place + 1]


@lru_cache(maxsize=512)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)
