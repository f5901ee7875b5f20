"""Hides marks of calls that a call's own strings quote: some of vLLM's parsers take them for marks, so that they would cut the
argument, and carry out a call that is only quoted.
"""

from __future__ import annotations

import re

from ray_gym.deployments.chat.call_pieces import Attempt

STRING = r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
"""Regular expression of a string of JSON or of Python."""
_MARKS = {
    "mistral": r"\[(?:TOOL_CALLS|ARGS|CALL_ID)\]",
    "llama4_pythonic": r"<\|python_(?:start|end)\|>",
    "lfm2": r"<\|tool_call_(?:start|end)\|>",
    "kimi_k2": r"<\|tool_calls?_(?:section_|argument_)?(?:begin|end)\|>",
    "deepseek_v3": r"<｜tool▁[^｜]{1,20}｜>",
    "deepseek_v31": r"<｜tool▁[^｜]{1,20}｜>",
    "apertus": r"<\|tools_(?:prefix|suffix)\|>",
}
"""Regular expressions of the marks, by the tool parser's name."""
_STRING = re.compile(STRING, re.DOTALL)


def hide(tool_parser: str | None, attempt: Attempt) -> Attempt:
    """Returns an attempt whose `alone` has an escape in the place of the first character of each mark in a string. It is
    the same string to JSON and to Python.
    """
    marks = _MARKS.get(tool_parser or "")
    if marks is None or attempt.written not in attempt.alone:
        return attempt
    hidden = _STRING.sub(lambda string: re.sub(marks, _escaped, string[0]), attempt.written)
    return (
        attempt if hidden == attempt.written else attempt._replace(alone=attempt.alone.replace(attempt.written, hidden))
    )


def _escaped(mark: re.Match[str]) -> str:
    return f"\\u{ord(mark[0][0]):04x}{mark[0][1:]}"
