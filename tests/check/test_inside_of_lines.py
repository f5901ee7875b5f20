"""Checks what `check-env` takes for a line within a line, and that it takes no long time for it."""

from __future__ import annotations

import gc
import time

import pytest

from ray_gym.check.echoes import MOST_COLONS, _inside


@pytest.mark.parametrize(
    ("line", "inside"),
    [
        ('["I take it."]', ["I take it"]),
        ("(buyer: I take it: now)", ["buyer: I take it: now", "I take it: now", "now"]),
        ("__ ... __", [""]),
        ("", [""]),
        ("x", ["x"]),
        ("«Größe»", ["Größe"]),
    ],
)
def test_a_line_without_signs_and_names(line: str, inside: list[str]) -> None:
    assert list(_inside(line)) == inside


@pytest.mark.parametrize("line", ["a" + "!" * 200_000 + "b", "a: " * 200_000, '{"x": "' + "\\n: " * 100_000 + '"}'])
def test_long_lines_take_no_long_time(line: str) -> None:
    gc.freeze()
    began = time.process_time()
    found = list(_inside(line))
    took = time.process_time() - began
    gc.unfreeze()
    assert len(found) <= MOST_COLONS + 1 and took < 1
