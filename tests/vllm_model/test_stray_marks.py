"""Reads answers with more marks around their calls than belong there, with vLLM's own parser of each format."""

from __future__ import annotations

import pytest
from test_malformed_calls import NOTE, SEVERAL, SINGLE, read

from ray_gym.deployments.chat.call_frames import FRAMES
from ray_gym.deployments.chat.call_pieces import Between

ENDS = [
    (parser, frame.read.end)
    for parser in FRAMES
    for frame in FRAMES[parser][:1]
    if isinstance(frame.read, Between) and parser in SINGLE | SEVERAL
]
"""Tool parsers of formats whose calls have a mark at their end, with this mark."""
BEGINS = [
    parser for parser, _ in ENDS if parser not in ("inkling", "internlm", "minicpm5", "minimax_m3", "muse_glimmer")
]
"""Tool parsers of formats whose calls have a mark at their beginning, too, which begins nothing else."""


def call_of(parser: str) -> str:
    """Returns a call of `note` in the format of a parser."""
    if parser in SINGLE:
        around, note = SINGLE[parser][:2]
        return around(note)
    around, _, (note, *_) = SEVERAL[parser]
    return around(note)


@pytest.mark.parametrize(("parser", "end"), ENDS)
def test_a_mark_of_an_end_too_many_is_no_word(parser: str, end: str) -> None:
    call = call_of(parser)
    assert read(parser, f"{call}\n{end}") == ("", [NOTE])
    assert read(parser, f"Hi. {call}{end}\n{end} Bye.") == ("Hi.  Bye.", [NOTE])
    assert read(parser, f"{call}{end}\n{call}\n") == ("", [NOTE, NOTE])


@pytest.mark.parametrize("parser", BEGINS)
def test_a_mark_of_a_beginning_too_many_is_no_call(parser: str) -> None:
    begin = FRAMES[parser][0].read.begin  # type: ignore[attr-defined]
    assert read(parser, f"Hi. {begin}\n{call_of(parser)}") == ("Hi.", [NOTE])


def test_marks_of_ends_within_a_frame_are_no_words() -> None:
    call = "<function=note>\n<parameter=text>\nü\n</parameter>\n</function>"
    assert read("qwen3_coder", f"<tool_call>{call}</tool_call></function></tool_call>") == ("", [NOTE])
    assert read("qwen3_coder", f"{call}</function></tool_call>\n</tool_call>") == ("", [NOTE])
    listed = '[{"name": "note", "arguments": {"text": "ü"}}]'
    assert read("granite", f"<tool_call>{listed}</tool_call>") == ("", [NOTE])
    assert read("xlam", f"{listed}</tool_call>") == ("", [NOTE])


def test_words_about_a_mark_behind_a_call_stay() -> None:
    call = call_of("hermes")
    assert read("hermes", f"{call} `</tool_call>` ends it.") == ("`</tool_call>` ends it.", [NOTE])
    assert read("hermes", f"{call} The end is </tool_call>.") == ("The end is </tool_call>.", [NOTE])
