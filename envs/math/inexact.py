r"""Tells boxes that are not the number in them: `12\ldots` goes on, `6 \approx 7` has two numbers, `x \to 3` only tends to one."""

from __future__ import annotations

import re

from ray_gym.envs.math.units import PLAIN_NUMBER

_GOES_ON = re.compile(r"(?<=\d)\s{0,3}(?:\\[lc]?dots(?![A-Za-z])|\u2026|\.{3})\s{0,3}\Z")
_TENDS = re.compile(r"\s{0,3}[A-Za-z]\s{0,3}\\(?:to|rightarrow|longrightarrow)(?![A-Za-z])")
_EQUALS = re.compile(r"=|\\text")
"""Part of what equals something, or has a unit, as a limit does not."""
_NEARLY = re.compile(
    rf"\s{{0,3}}({PLAIN_NUMBER.pattern})\s{{0,3}}(?:\\approx(?![A-Za-z])|\u2248)\s{{0,3}}({PLAIN_NUMBER.pattern})\s{{0,3}}"
)
_WHOLE = re.compile(r"[-+]?[1-9]\d*")


def why_inexact(expected: str, box: str) -> str | None:
    """Returns why a bare box is not the number in it; None if nothing speaks against it, or the bare expected answer is
    of the same kind.
    """
    if _GOES_ON.search(box) and not _GOES_ON.search(expected):
        return "goes on"
    if any(_TENDS.match(one) and _EQUALS.search(other) for one, other in ((box, expected), (expected, box))):
        return "is a limit, or expected to be one"
    nearly = _NEARLY.fullmatch(box)
    if nearly is not None and all(map(_WHOLE.fullmatch, nearly.groups())) and not _is_rounded(*nearly.groups()):
        return "has two numbers"
    return None


def _is_rounded(number: str, other: str) -> bool:
    """Says whether a whole number without its last digits is another one: 1234 is nearly 1200."""
    zeros = len(other) - len(other.rstrip("0"))
    return abs(int(number) - int(other)) < int("1" + "0" * zeros)
