"""Reads the tool calls of models without a tool format of their own, as the fallback template asks for them: a line
`NAME {arguments as JSON}`.

Such a call takes a third of the tokens of one in a format with tags. That saves time even for a forced call, since a
forced token takes as long to generate as a chosen one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from functools import lru_cache
from itertools import chain
from typing import Any

from ray_gym.models.thoughts import has_mark, tell_apart

NAME = "plain"
"""Name of this format in `tool_parser`, beside vLLM's own names."""

_NAME = r"[A-Za-z_][\w.-]*"
"""Regular expression of a name; those of tools may be others, too."""
_DECODER = json.JSONDecoder()
_MAY_BECOME_A_CALL = re.compile(rf"(?:{_NAME}[ \t]*)?\Z")


def structural_tag(tools: list[dict[str, Any]], parallel: bool) -> dict[str, Any]:
    """Returns the structural tag (xgrammar's notation of a grammar) of one call, or if `parallel` of one or more calls,
    a line each. `tools` are in OpenAI's form.
    """
    tags = [
        {
            "type": "tag",
            "begin": f"{tool['function']['name']} ",
            "content": {"type": "json_schema", "json_schema": tool["function"]["parameters"]},
            "end": "",
        }
        for tool in tools
    ]
    calls = {"type": "tags_with_separator", "tags": tags, "separator": "\n", "at_least_one": True}
    return {"type": "structural_tag", "format": {**calls, "stop_after_first": not parallel}}


def read(text: str, names: Collection[str] = ()) -> tuple[str, list[tuple[str, str]]]:
    """Returns the text before the first call, stripped, and the calls as (name, arguments); if there are no calls, the
    whole text and []. The arguments are the text as the model wrote it, which may be malformed JSON if the name is one of
    the tools' `names`: another name begins a call only before a JSON object, for `try {` and `Set {1, 2}` are words. After
    the first call, a line that is one of the names is a call without arguments (""), and a further call may be on the
    line of the one before it; other text between and after the calls is left out.
    """
    calls: list[tuple[str, str]] = []
    content, position = text, 0
    while (found := _next_call(text, position, names)) is not None:
        if calls:
            calls += _bare_calls(text[position : found.start()], names)
        else:
            content = text[: found.start()]
        position = _end_of_object(text, found.end()) or _end_of_line(text, found.end())
        calls.append((found.group(1), text[found.end() : position]))
    if not calls:
        return text, []
    return content.strip(), calls + _bare_calls(text[position:], names)


def read_beside_thoughts(text: str, names: Collection[str]) -> tuple[str, str, list[tuple[str, str]]]:
    """Returns the thoughts in a text, and what `read` makes of the rest. A call within thoughts is none, and marks of
    thoughts within a call's arguments are a part of them.
    """
    hidden: dict[str, str] = {}
    parts, position = [], 0
    for found in _beginnings(tuple(names))[0].finditer(text):
        end = _end_of_object(text, found.end()) if found.start() >= position and found.group(1) in names else None
        if end is not None and has_mark(text[found.end() : end]):
            stand_in = f'{{"\ufdd0": {len(hidden)}}}'  # an object of JSON that no model writes
            hidden[stand_in] = text[found.end() : end]
            parts += [text[position : found.end()], stand_in]
            position = end
    thoughts, words = tell_apart("".join([*parts, text[position:]]))
    content, calls = read(words, names)
    for stand_in, arguments in hidden.items():
        thoughts, content = thoughts.replace(stand_in, arguments), content.replace(stand_in, arguments)
    return thoughts, content, [(name, hidden.get(arguments, arguments)) for name, arguments in calls]


@lru_cache(maxsize=512)
def _beginnings(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns the regular expressions of a call's beginning, with its name: on a line of its own, and on any line."""
    name = "|".join([*map(re.escape, sorted(names, key=len, reverse=True)), _NAME])
    begin = rf"({name})[ \t]*(?=\{{)"
    return re.compile(f"^{begin}", re.MULTILINE), re.compile(rf"(?<![\w.-]){begin}")


def _next_call(text: str, position: int, names: Collection[str]) -> re.Match[str] | None:
    """Returns the beginning of the next call, with its name: on the line of the call that ends at `position`, or on a
    line of its own.
    """
    call, any_call = _beginnings(tuple(names))
    on_line = any_call.finditer(text, position, _end_of_line(text, position) if position else 0)
    for found in chain(on_line, call.finditer(text, position)):
        if found.group(1) in names or (found.re is call and _end_of_object(text, found.end()) is not None):
            return found
    return None


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


def _end_of_object(text: str, start: int) -> int | None:
    """Returns the index behind the JSON object that begins at `start`; None if none does."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _bare_calls(text: str, names: Collection[str]) -> list[tuple[str, str]]:
    return [(line.strip(), "") for line in text.splitlines() if line.strip() in names]


class CallStream:
    """Reads a text that comes in pieces. `feed` returns text as soon as it can't be part of a call; `finish` returns
    the rest of the text, and the calls. `names`: names of the tools.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = tuple(names)
        self._text = ""
        self._given = 0
        self._line = 0
        """Index where the last line begins: earlier lines are no calls."""
        self._calls: int | None = None
        """Index where the first call begins, or None."""

    def feed(self, piece: str) -> str:
        """Takes a piece, and returns the text that is certain not to be part of a call. A line that may become a call,
        and whitespace at the end, are held back. Nothing after the beginning of the first call is returned.
        """
        self._text += piece
        if self._calls is None and (found := self._find_call()) is not None:
            self._calls = found.start()
        if self._calls is not None:
            end = self._calls
        else:
            self._line = self._text.rfind("\n") + 1
            end = self._line if self._may_become_a_call() else len(self._text)
        said = self._text[self._given : end].rstrip()
        self._given += len(said)
        return said

    def _find_call(self) -> re.Match[str] | None:
        return _beginnings(self._names)[0].search(self._text, self._line)

    def _may_become_a_call(self) -> bool:
        """Returns True if the last line is a name, or the beginning of a tool's name."""
        begun = self._text[self._line :].rstrip(" \t")
        return _MAY_BECOME_A_CALL.match(begun) is not None or any(name.startswith(begun) for name in self._names)

    def finish(self) -> tuple[str, list[tuple[str, str]]]:
        """Returns the text that was held back, and the calls as (name, arguments)."""
        if self._calls is None:
            return self._text[self._given :], []
        said, calls = read(self._text[self._calls :], self._names)
        return self._text[self._given : self._calls] + said if said else "", calls
