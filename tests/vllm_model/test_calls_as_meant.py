"""Reads calls that vLLM's parsers read otherwise than they are meant, or not at all, with vLLM's own parser of each format."""

from __future__ import annotations

import pytest
from test_malformed_calls import GO, NOTE, Calls, read

JSON_NOTE, JSON_GO = '{"name": "note", "arguments": {"text": "ü"}}', '{"name": "go", "arguments": {"to": "x"}}'
LISTS = {"mistral": "[TOOL_CALLS] [", "granite": "<|tool_call|>[", "phi4_mini_json": "functools["}
"""Beginning of a JSON list of calls, by parser."""


@pytest.mark.parametrize("parser", LISTS)
def test_a_list_may_lack_the_bracket_at_its_end(parser: str) -> None:
    begin = LISTS[parser]
    assert read(parser, f"{begin}{JSON_NOTE}") == ("", [NOTE])
    assert read(parser, f"Hi. {begin}{JSON_NOTE}\n") == ("Hi.", [NOTE])
    assert read(parser, f"{begin}{JSON_NOTE}, {JSON_GO}") == ("", [NOTE, GO])
    assert read(parser, f"{begin}{JSON_NOTE}, {JSON_GO}\n\nBoth are under way [1].") == (
        "Both are under way [1].",
        [NOTE, GO],
    )
    words, calls = read(parser, f'{begin}{{"name": "go", "arguments": {{"to": }}}}, {JSON_NOTE}')
    assert words == "" and len(calls) == 2 and calls[1] == NOTE
