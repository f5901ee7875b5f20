r"""Compares lists of words or letters, which may be within one `\text` or several: `\text{A, C}` and `A,C`."""

from __future__ import annotations

import re

from ray_gym.envs.math.parted import asks_for_order

_STYLE = re.compile(r"\\(?:text(?:bf|it|rm|sf)?|mathrm|mathbf)\s?\{([^{}]*)\}")
_AROUND = re.compile(r"\\\{(.*)\\\}")
_BETWEEN = re.compile(r"\s*(?:,\s*and\b|,|;|\band\b)\s*")
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|[ '\u2019.-]){0,40}")
_SPACE = re.compile(r"\\(?:q?quad(?![A-Za-z])|[ ,;:!])|[~$]")


def are_same_lists(expected: str, answer: str, question: str) -> bool:
    """Says whether two bare expressions are the same words, two or more, of which one has a style of text. Their order
    counts if the question asks for one.
    """
    if not _STYLE.search(expected) and not _STYLE.search(answer):
        return False  # they may be products of variables
    wanted, given = _words(expected), _words(answer)
    if wanted is None or given is None:
        return False
    return wanted == given if asks_for_order(question) else sorted(wanted) == sorted(given)


def _words(text: str) -> list[str] | None:
    """Returns the words of a list, folded; None if it is something else, or a single word."""
    plain = " ".join(_SPACE.sub(" ", _STYLE.sub(r"\1", text)).split())
    inside = _AROUND.fullmatch(plain)
    parts = _BETWEEN.split(inside[1].strip() if inside else plain)
    words = [part.rstrip(".").casefold() for part in parts if _WORD.fullmatch(part)]
    return words if len(words) == len(parts) > 1 else None
