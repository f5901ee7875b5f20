"""Checks that all that is left out of a request is told, whatever its names are."""

from __future__ import annotations

import pytest

from ray_gym.openai_api.left_out import LONGEST_NAME, MOST_LEFT_OUT, left_out_names


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("tools.web_search", "tools.web_search"),
        ("odd\r\nX-Other: all", "odd%0D%0AX-Other:%20all"),
        ("a, b", "a%2C%20b"),
        ("\u4e2d", "%E4%B8%AD"),
        ("\ud800", "%5Cud800"),
        ("x" * LONGEST_NAME, "x" * LONGEST_NAME),
        ("x" * 10_000, "x" * (LONGEST_NAME - 3) + "..."),
    ],
)
def test_an_odd_name_is_escaped_and_a_long_one_is_cut(name: str, shown: str) -> None:
    assert left_out_names([name, name]) == (shown,)


def test_of_many_names_the_number_of_the_further_ones_is_told() -> None:
    names = [f"tool_{number:02}" for number in range(MOST_LEFT_OUT + 5)]
    assert left_out_names(names) == (*names[:MOST_LEFT_OUT], "and 5 more")
    assert left_out_names(names[:MOST_LEFT_OUT]) == tuple(names[:MOST_LEFT_OUT])
