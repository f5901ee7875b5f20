r"""Finds the boxes of a text, `\boxed{...}` and `\fbox{...}`, by their paired braces."""

from __future__ import annotations

import re
from typing import NamedTuple

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_MARKED_BOX = re.compile(r"<\|begin_of_box\|>((?:[^<]|<(?!\|(?:begin|end)_of_box\|>))*+)<\|end_of_box\|>")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


class Box(NamedTuple):
    """A box is three places in a text."""

    start: int
    """Place where its command begins."""
    begin: int
    """Place where its content begins."""
    end: int
    """Place of the brace behind its content."""


def with_latex_boxes(text: str) -> str:
    r"""Returns a text in which the answers that GLM's models mark by tokens of their own are in `\boxed{...}`."""
    return _MARKED_BOX.sub(lambda found: f"\\boxed{{{found[1]}}}", text)


def closed_boxes(text: str) -> list[Box]:
    """Returns the boxes of a text that are closed, in the order of their ends: a box within another is before that one."""
    starts = {found.end(): found.start() for found in _BOX.finditer(text)}
    opened: list[int] = []
    boxes: list[Box] = []
    for brace in _BRACE.finditer(text) if starts else ():
        if brace[0] == "{":
            opened.append(brace.end())
        elif brace[0] == "}" and opened and (begin := opened.pop()) in starts:
            boxes.append(Box(starts[begin], begin, brace.start()))
    return boxes


def outer_boxes(text: str) -> list[Box]:
    """Returns the closed boxes of a text that are not within another, in order."""
    outer: list[Box] = []
    for box in closed_boxes(text):
        while outer and outer[-1].begin > box.begin:  # within this one
            outer.pop()
        outer.append(box)
    return outer
