r"""Compares statements of geometry, of which math-verify reads none: `AB \parallel CD`, `\triangle ABC \sim \triangle DEF`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_SIGNS = {
    "parallel": r"\\parallel(?![A-Za-z])|\\\||\u2225|\|\||//",
    "perpendicular": r"\\(?:perp|bot)(?![A-Za-z])|\u22a5|\u27c2",
    "similar": r"\\sim(?![A-Za-z])|\u223c",
    "congruent": r"\\cong(?![A-Za-z])|\u2245",
}
_SIGN = re.compile("|".join(f"(?P<{name}>{sign})" for name, sign in _SIGNS.items()))
_ALSO_OTHERS = ("\\|", "||", "//")
"""Signs that between two variables have other meanings."""
_DRESS = re.compile(
    r"\\(?:text|mathrm|mathit|bar|(?:over|under)(?:line|right(?:arrow)?|leftrightarrow|leftarrow)|overset|line)(?![A-Za-z])"
    r"|[\s{}$]"
)
_FIGURE = re.compile(
    r"(?:(?P<triangle>\\triangle|\u25b3|\u0394)|(?P<angle>\\angle|\u2220))?(?P<name>(?:[A-Z]'?){1,6}|[a-z]'?(?:_\d)?)"
)
_VERTEX = re.compile(r"[A-Za-z](?:'|_\d)*")
_IN_ORDER = ("similar", "congruent")
"""Relations between figures whose vertices correspond."""


class _Statement(NamedTuple):
    relation: str
    kind: str | None
    """triangle, angle, or None for lines and other figures."""
    figures: frozenset[object]


def are_same_statements(expected: str, answer: str) -> bool | None:
    """Says whether two bare statements are the same, with their sides in any order, as well as the ends of a line, and the
    vertices of two figures alike; None if none is expected.
    """
    wanted = _statement(expected)
    return None if wanted is None else wanted == _statement(answer)


def _statement(text: str) -> _Statement | None:
    signs = list(_SIGN.finditer(text))
    if len(signs) != 1 or signs[0].lastgroup is None:
        return None
    sides = [_FIGURE.fullmatch(_DRESS.sub("", side)) for side in (text[: signs[0].start()], text[signs[0].end() :])]
    one, other = sides
    if one is None or other is None or (signs[0][0] in _ALSO_OTHERS and (one["name"] + other["name"]).islower()):
        return None
    if (kind := _kind(one)) != _kind(other):
        return None
    names = [_VERTEX.findall(found["name"]) for found in (one, other)]
    relation = signs[0].lastgroup
    if kind == "angle":
        return _Statement(relation, kind, frozenset((*each[1:2], frozenset(each[::2])) for each in names))
    if relation in _IN_ORDER and len(names[0]) == len(names[1]) > 2:
        return _Statement(relation, kind, frozenset({*_around(*names), *_around(*names[::-1])}))
    return _Statement(relation, kind, frozenset(frozenset(each) for each in names))


def _around(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yields the pairs of the vertices of two figures that correspond, from each vertex on in both directions."""
    pairs = list(zip(one, other, strict=True))
    for way in (pairs, pairs[::-1]):
        for at in range(len(way)):
            yield (*way[at:], *way[:at])


def _kind(figure: re.Match[str]) -> str | None:
    return "triangle" if figure["triangle"] else "angle" if figure["angle"] else None
