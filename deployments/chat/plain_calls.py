"""Reads the tool calls of models without a tool format of their own, as the fallback template asks for them: a line
`NAME {arguments as JSON}`.

Such a call takes a third of the tokens of one in a format with tags. That saves time even for a forced call, since a
forced token takes as long to generate as a chosen one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

NAME = "plain"
"""Name of this format in `tool_parser`, beside vLLM's own names."""

_CALL = re.compile(r"^([A-Za-z_][\w.-]*)[ \t]*(?=\{)", re.MULTILINE)
_MAY_BECOME_A_CALL = re.compile(r"(?:[A-Za-z_][\w.-]*[ \t]*)?\Z")


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
    whole text and []. The arguments are the text as the model wrote it, which may be malformed JSON. After the first
    call, a line that is one of the tools' `names` is a call without arguments (""); other text between and after the
    calls is left out.
    """
    calls: list[tuple[str, str]] = []
    content, position = text, 0
    while (found := _CALL.search(text, position)) is not None:
        if calls:
            calls += _bare_calls(text[position : found.start()], names)
        else:
            content = text[: found.start()]
        try:
            _, length = json.JSONDecoder().raw_decode(text[found.end() :])
        except (ValueError, RecursionError):
            length = len(text[found.end() :].split("\n", 1)[0])
        position = found.end() + length
        calls.append((found.group(1), text[found.end() : position]))
    if not calls:
        return text, []
    return content.strip(), calls + _bare_calls(text[position:], names)


def _bare_calls(text: str, names: Collection[str]) -> list[tuple[str, str]]:
    return [(line.strip(), "") for line in text.splitlines() if line.strip() in names]


class CallStream:
    """Reads a text that comes in pieces. `feed` returns text as soon as it can't be part of a call; `finish` returns
    the rest of the text, and the calls. `names`: names of the tools.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = names
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
        if self._calls is None and (found := _CALL.search(self._text, self._line)) is not None:
            self._calls = found.start()
        if self._calls is not None:
            end = self._calls
        else:
            self._line = self._text.rfind("\n") + 1
            end = self._line if _MAY_BECOME_A_CALL.match(self._text, self._line) else len(self._text)
        said = self._text[self._given : end].rstrip()
        self._given += len(said)
        return said

    def finish(self) -> tuple[str, list[tuple[str, str]]]:
        """Returns the text that was held back, and the calls as (name, arguments); if there are calls, the text
        is "".
        """
        if self._calls is None:
            return self._text[self._given :], []
        return "", read(self._text[self._calls :], self._names)[1]
