"""Checks which place of a traceback on standard error is told."""

from __future__ import annotations

import pytest

from ray_gym.agents.raised_at import raised_at

OWN = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n  File "/home/me/ag.py", line 7, in play\n    x()\n'
LIBRARY = '  File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode\n'


@pytest.mark.parametrize(
    ("errors", "place"),
    [
        (f"{OWN}KeyError: 'missing'\n", "play (ag.py:7)"),
        (f"{OWN}{LIBRARY}ValueError: no\n", "play (ag.py:7)"),
        (f"{OWN}KeyError: 1\n\nDuring handling of it:\n\n{OWN.replace('7', '9')}ValueError: no\n", "play (ag.py:9)"),
        (f"Traceback (most recent call last):\n{LIBRARY}ValueError: no\n", "raw_decode (decoder.py:353)"),
        ("I give up\n", ""),
        ('  File "/home/me/ag.py", line 7, in play\n', ""),
        ("", ""),
    ],
)
def test_the_innermost_line_of_the_author_is_told(errors: str, place: str) -> None:
    assert raised_at(errors) == place
