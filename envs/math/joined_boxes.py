r"""Joins boxes that are one answer together: `x = \boxed{2} \text{ or } x = \boxed{3}`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, pairwise

from ray_gym.envs.math.unit_table import powers_of
from ray_gym.graders.boxes import Box, outer_boxes

_FURTHEST = 100
"""Largest number of characters between two boxes that are joined."""
_TEXT = re.compile(r"\\(?:text\w*|mathrm|mbox)\s?\{([^{}]*)\}")
_WIDE = re.compile(r"\\q?quad(?![A-Za-z])")
_OR = re.compile(r"\\(?:lor|vee)(?![A-Za-z])")
_DRESS = re.compile(
    r"\\\\|\\[()\[\],;:! $%]|\^\s?\{?\s?\\circ\s?\}?|\\hspace\*?\s?\{[^{}]*\}|[$*~&%]|\((?=\s*(?:or|and)\b)"
)
_NAME = r"((?:[A-Za-z]{1,2}|\\[A-Za-z]{2,10})(?:_\{?\w{1,4}\}?)?(?:\(\w\))?)\s*=\s*"
_BETWEEN = re.compile(
    r"\s*(?P<unit>(?!(?:and|or)\b)[A-Za-z]{1,12})?(?P<marks>[\s,;]*)"
    rf"(?:\b(?:(?P<or>or(?:\s(?:alternatively|instead|else))?|maybe|perhaps|possibly)|(?P<and>and(?:\salso)?))\b[\s,]*){{0,2}}(?:{_NAME})?",
    re.IGNORECASE,
)
_NAME_BEFORE = re.compile(rf"(?<![A-Za-z\\]){_NAME}[\s$]*\Z")
_LONGEST_NAME = 40


def with_boxes_joined(text: str) -> str:
    r"""Returns a text in which boxes are one box, as `\boxed{2 \text{ or } 3}`, if only a comma, `and`, `or` or wide space
    stands between them, also with marks around it, a name of the next value (`x =`), or a unit of the value before. Names
    of several variables go into the box.
    """
    joined, place = "", 0
    for begin, end, inside, _ in _runs(text):
        joined, place = f"{joined}{text[place:begin]}{inside}", end
    return joined + text[place:]


def joined_values(text: str, box: str) -> list[str]:
    """Returns the values of the boxes of a text that `with_boxes_joined` makes one with the content `box`; none without."""
    return next((values for _, _, inside, values in _runs(text) if inside.strip() == box.strip()), [])


def _runs(text: str) -> Iterator[tuple[int, int, str, list[str]]]:
    """Yields where the content of boxes that are one begins and ends, what becomes of it, and their values."""
    boxes = outer_boxes(text)
    links = [_link(text[end + 1 : start]) for (_, _, end), (start, _, _) in pairwise(boxes)]
    for is_joined, run in groupby(range(len(links)), key=lambda number: bool(links[number])):
        if is_joined:
            first, *others = run
            together = boxes[first : first + len(others) + 2]
            values = _values(text, together)
            inside = "".join(map(str.__add__, ["", *links[first:]], values))
            yield together[0][1], together[-1][2], inside, values


def _values(text: str, boxes: list[Box]) -> list[str]:
    """Returns what is in boxes, with the names before them if each has one and the names are not all the same."""
    values = [text[begin:end] for _, begin, end in boxes]
    before = [_NAME_BEFORE.search(text[max(0, start - _LONGEST_NAME) : start]) for start, _, _ in boxes]
    names = [found[1] for found in before if found is not None]
    if len(names) < len(values) or len(set(names)) == 1:
        return values
    return [f"{name} = {value}" for name, value in zip(names, values, strict=True)]


def _link(between: str) -> str:
    """Returns what joins the values of two boxes in one, for the text between the boxes; "" if it joins none."""
    plain = (
        _DRESS.sub(" ", _WIDE.sub(",", _OR.sub(" or ", _TEXT.sub(r" \1 ", between))))
        if len(between) <= _FURTHEST
        else "?"
    )
    found = _BETWEEN.fullmatch(plain)
    if found is None or (found["unit"] and not found["or"] and powers_of(found["unit"]) is None):
        return ""
    if found["or"]:
        return r" \text{ or } "
    return ", " if found["and"] or found["marks"].strip() else ""
