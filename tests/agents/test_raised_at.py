"""Checks which place of a traceback on standard error is told."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.agents.raised_at import last_line, raised_at

OWN = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n  File "/home/me/ag.py", line 7, in play\n    x()\n'
LIBRARY = '  File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode\n'
GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/home/me/ag.py", line 20, in main
  |     async with asyncio.TaskGroup() as group:
  |   File "/usr/lib/python3.11/asyncio/taskgroups.py", line 145, in __aexit__
  |     raise me from None
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/me/ag.py", line 3, in look
    |     x()
    | KeyError: 'missing'
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/home/me/ag.py", line 7, in play
    |     x()
    |   File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode
    | ValueError: no
    +------------------------------------
"""
SYNTAX = """\
Traceback (most recent call last):
  File "/home/me/ag.py", line 2, in <module>
    import moves
  File "/home/me/moves.py", line 7
    x = (
        ^
SyntaxError: '(' was never closed
"""


@pytest.mark.parametrize(
    ("errors", "place"),
    [
        (f"{OWN}KeyError: 'missing'\n", "play (ag.py:7)"),
        (f"{OWN}{LIBRARY}ValueError: no\n", "play (ag.py:7)"),
        (f"{OWN}KeyError: 1\n\nDuring handling of it:\n\n{OWN.replace('7', '9')}ValueError: no\n", "play (ag.py:9)"),
        (f"Traceback (most recent call last):\n{LIBRARY}ValueError: no\n", "raw_decode (decoder.py:353)"),
        (GROUP, "play (ag.py:7)"),
        (SYNTAX, "moves.py:7"),
        (
            f"{OWN}    ~~~~^^^\n  [Previous line repeated 9 more times]\nRecursionError: deep\n  and more\n\n",
            "play (ag.py:7)",
        ),
        (f"{OWN}pydantic_core.ValidationError: 1 validation error for M\nx\n  Input should be ...\n", "play (ag.py:7)"),
        (f"{OWN}ValueError: a\nb\n", "play (ag.py:7)"),
        (f"{OWN}ValueError: x\nsys:1: RuntimeWarning: coroutine 'f' was never awaited\n", "play (ag.py:7)"),
        ("I give up\n", ""),
        ('  File "/home/me/ag.py", line 7, in play\n', ""),
        ("", ""),
    ],
)
def test_the_innermost_line_of_the_author_is_told(errors: str, place: str) -> None:
    assert raised_at(errors) == place


@pytest.mark.parametrize(
    ("errors", "line"),
    [(GROUP, "ValueError: no"), (f"{OWN}KeyError: 1\n\n", "KeyError: 1"), ("a\n+---+\n", "+---+"), ("", "")],
)
def test_the_last_line_is_none_of_a_groups_frame(errors: str, line: str) -> None:
    assert last_line(errors) == line


@pytest.mark.parametrize(
    "part", ["\n", " ", "  | ", "+-", "  File ", '  File "a", line 1\n', "Traceback (most recent call last):\n"]
)
@pytest.mark.clock
def test_no_standard_error_takes_long_to_read(part: str) -> None:
    began = time.process_time()
    for begins in ("Traceback (most recent call last):", "  + Exception Group Traceback (most recent call last):"):
        raised_at(begins + part * 20_000)
    assert time.process_time() - began < 2 * slowness()
