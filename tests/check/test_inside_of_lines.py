"""Checks what `check-env` takes for a line within a line, and that it takes no long time for it."""

from __future__ import annotations

import gc
import time

import pytest
from processor import slowness

from ray_gym.check.echoes import MOST_COLONS, _inside, _part_of
from ray_gym.check.told import is_specific, stands_within


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


@pytest.mark.parametrize(
    ("part", "text", "stands"),
    [
        ("I offer 293", "The buyer said: (I offer 293.) ok", True),
        ("I offer 293", "I offer 2930, and then I offer 293", True),
        ("I offer 293", "I offer 2930", False),
        ("offer 293", "Coffer 293", False),
        ("我出价二百九十三元整", "买家说我出价二百九十三元整好吗", True),
        ("a", "", False),
    ],
)
def test_a_part_begins_and_ends_with_words(part: str, text: str, stands: bool) -> None:
    assert stands_within(part, text) == stands


@pytest.mark.parametrize(
    ("text", "specific"),
    [("I offer 293", True), ("sold: dates", False), ("100 coins", False), ("!" * 20, True), ('{"ok": true}', False)],
)
def test_what_does_not_come_up_by_chance_is_specific(text: str, specific: bool) -> None:
    assert is_specific(text) == specific


def test_one_s_own_words_within_a_line_are_found_unless_others_have_said_them() -> None:
    line, own = "The buyer said: (I offer 293.) ok", {"I offer 293", "ok"}
    assert _part_of(line, own, set()) == "I offer 293"
    assert _part_of(line, own, {"Well, I offer 293 then"}) is None and _part_of("I offer 2930 ok", own, set()) is None


@pytest.mark.parametrize("line", ["a" + "!" * 200_000 + "b", "a: " * 200_000, '{"x": "' + "\\n: " * 100_000 + '"}'])
def test_long_lines_take_no_long_time(line: str) -> None:
    gc.freeze()
    began = time.process_time()
    found = list(_inside(line))
    took = time.process_time() - began
    gc.unfreeze()
    assert len(found) <= MOST_COLONS + 1 and took < slowness()
