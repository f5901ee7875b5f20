r"""Keeps expressions whole that math-verify would cut off at what it takes for a unit.

It takes everything from the first `\text` (or `\mathbf`) on for a unit, if a brace ends the expression: of
`2\text{a} + \frac{1}{2}` it would read 2, of `x_{\text{max}}` a part that equals that of `x_{\text{min}}`. A letter at the end, as
in `a + c`, it takes for a unit, too.
"""

from __future__ import annotations

import re

from ray_gym.envs.math.arguments import with_braces
from ray_gym.envs.math.last_letter import ends_in_variable

_TEXT = r"\\(?:text\w*|math(?:rm|it|bf|sf)|mbox)\s?\{"
_UNIT = rf"{_TEXT}(?:[^{{}}]|\{{[^{{}}]*\}})*\}}(?:\s?\^\s?(?:\{{\s?-?\d\s?\}}|-?\d))?"
_NUMBER = r"(?:[\d.,/]+|\\[dt]?frac\{\d+\}\{\d+\})"
_FIRST_TEXT = re.compile(_TEXT)
_UNITS = re.compile(rf"(?:{_UNIT}|[\s/().,~]|\\(?:cdot|times)(?![A-Za-z])|\\[,;: ])*(?:=\s?{_NUMBER}\s?{_UNIT})?")
"""Units up to the end of an expression, which it may lose, also with the same quantity in other units."""
_NAMED = re.compile(
    rf"\s*+(?=[^=]*{_TEXT}|[^=]*=.*{_TEXT})\\?[A-Za-z]{{1,9}}(?:\s?_\s?(?:\w|\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}))?(?:\([a-z]\))?\s*=(?P<value>[^=]+)"
)
"""Value behind a name, one of which has text."""
_INDEX = re.compile(rf"\s*\\?[A-Za-z]{{1,9}}\s?_\s?\{{\s?{_TEXT}([^{{}}]*)\}}\s?\}}\s*=")
_MEAN_THE_SAME = (
    frozenset({"avg", "av", "average", "mean"}),
    frozenset(
        {"net", "total", "tot", "all", "eq", "equiv", "equivalent", "eff", "effective", "result", "resultant", "sum"}
    ),
    frozenset({"shaded", "gray", "grey"}),
    frozenset({"init", "initial", "start", "before"}),
    frozenset({"final", "end", "after"}),
    frozenset({"max", "maximum", "largest", "greatest", "highest"}),
    frozenset({"min", "minimum", "smallest", "least", "lowest"}),
)
"""Words in indices that name the same quantity."""
_JOINT = re.compile(rf"{_TEXT}\s{{0,9}}(?:and|or)\s{{0,9}}\}}")
_AND = re.compile(r"(?<=[A-Za-z]),?\s{1,9}and\s{0,9}\}\s{0,9}(?=\d)")
_LAST_LETTER = re.compile(r"[-+=*/(,]\s{0,9}\d{0,30}[A-Za-z]\Z")
_ADDS = re.compile(r"(?<=[\w)}\]])\s{0,9}[-+]|=\s{0,9}[A-Za-z]\Z")
_BOLD = re.compile(
    r"(?P<before>(?<=[A-Za-z\d)}\]])(?:\s|~|\\[,;:! ]){0,9})?\\(?:mathbf|boldsymbol|bm|pmb|bold|symbf)\s?"
    r"\{\s?(?P<letter>[A-Za-z](?:_(?:\w|\{\w\}))?|\\[A-Za-z]+|\\(?:hat|vec|bar|tilde)\s?\{[A-Za-z]\})\s?\}(?=(?P<raised>\s?[_^'(])?)"
)
_BOLD_UNIT = re.compile(
    r"(?<![^$])(-?[\d.,]{0,30}\d(?:\s|~|\\[,;: ]){0,9})\\(?:mathbf|boldsymbol|bm)\s?\{\s?([A-Za-z])\s?\}(?![^$])"
)
_UNIT_VECTOR = re.compile(
    r"\\(?:mathbf|boldsymbol|bm)\s?\{\s?\\hat\s?\{\s?([ijk])\s?\}\s?\}|\\hat\s?\{\s?([ijk])\s?\}"
    r"|\\hat\s?\{\s?\\(?:mathbf|boldsymbol|bm)\s?\{\s?([ijk])\s?\}\s?\}"
)
_CUT_OFF = frozenset("cdghlmost")
"""Letters behind a number that math-verify takes for units."""
_LAST_FACTOR = re.compile(r"(?<=[\d}])([cdghlmost])\Z")
END = r"\,"
"""Space at the end of an expression, behind which math-verify takes nothing for a unit."""


def kept_whole(expression: str, ends_in_letter: bool = False) -> str:
    """Returns an expression with a space at its end if math-verify would cut off more than units; else the same. Without a
    name before text, or with text in it, and without the unit behind values that are joined in words. `ends_in_letter`:
    says that a letter at the end is a variable.
    """
    named = _NAMED.fullmatch(expression)
    if named is not None:
        return kept_whole(named["value"], ends_in_letter)
    text = _FIRST_TEXT.search(_JOINT.sub(lambda joint: " " * len(joint[0]), expression))
    if text is not None and _UNITS.fullmatch(expression, text.start()):
        return f"{expression[: text.start()]}{END}" if _JOINT.search(expression) else expression
    if _FIRST_TEXT.search(expression):
        return f"{_AND.sub(r'}, ', expression)}{END}"
    is_sum = _LAST_LETTER.search(expression) is not None and _ADDS.search(expression) is not None
    is_whole = is_sum or ends_in_letter or ends_in_variable(expression)
    return f"{expression}{END}" if is_whole else expression


def have_like_names(one: str, other: str) -> bool:
    r"""Says whether two equations do not name two quantities by words in their indices, as `f_{\text{max}} =` and
    `f_{\text{min}} =` do. A word may be short for the other, in other capitals, or mean the same (`avg`, `mean`).
    """
    words = [found[1].strip().lower() for text in (one, other) if (found := _INDEX.match(text)) is not None]
    if len(words) < 2 or any(meaning.issuperset(words) for meaning in _MEAN_THE_SAME):
        return True
    short, long = sorted(words, key=len)
    letters = iter(long)
    return all(letter in letters for letter in short)


def with_plain_letters(text: str) -> str:
    r"""Returns a text whose bold letters are plain, and unit vectors `\hat{i}` too: `3\mathbf{i} + 4\mathbf{j}`.

    One behind another letter gets a space, so that it is no part of a command; one that could be a unit gets braces.
    """
    return _BOLD.sub(_plain_letter, _UNIT_VECTOR.sub(r"\\mathbf{\1\2\3}", text))


def with_letters_alike(expected: str, answer: str) -> str:
    r"""Returns an answer whose last letter is no unit if the expected answer, which is not tidied yet, has bold letters; else
    one whose bold unit (`5\mathbf{m}`) is text.
    """
    if _BOLD.search(with_braces(expected)):
        return _LAST_FACTOR.sub(r"{\1}", answer.rstrip())
    return _BOLD_UNIT.sub(r"\1\\text{\2}", answer.strip())


def _plain_letter(found: re.Match[str]) -> str:
    letter = found["letter"]
    if found["before"] is None:
        return letter
    if letter in _CUT_OFF and not found["raised"]:
        return f"{{{letter}}}"
    return f" {letter}" if found.string[found.start() - 1].isalpha() else letter
