"""Compares two mathematical expressions by math-verify, in a process that may be killed at any time.

math-verify's own time limits are off: they use signals, can't end a computation in C, and give "different" in doubt.
"""

from __future__ import annotations

import logging
import re
import signal
from typing import Any

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify
from sympy import Eq, Set, Tuple

from ray_gym.envs.math.dress import in_usual_signs, value_of, without_dress
from ray_gym.envs.math.endings import counted_in, is_ending
from ray_gym.envs.math.mixed import without_mixed_numbers
from ray_gym.envs.math.number_words import with_digits
from ray_gym.envs.math.reduction import is_left_to_compute, is_left_to_solve, to_exact
from ray_gym.envs.math.unit_table import Powers, are_same_units
from ray_gym.envs.math.units import CURRENCY, NUMBER_AND_UNIT, PLAIN_NUMBER, split_quantity, with_slashes
from ray_gym.graders import folded, last_boxed

READ = (LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig())
"""Forms that are read: LaTeX and plain expressions. A box has priority."""
LONGEST = 2000
"""Largest number of characters of an answer that is read. A longer one would take long, and its beginning alone may be
contradicted by the rest."""
PLACES = 50
"""Decimal places to which values with roots or pi are compared."""
SHOWN = 80
"""Largest number of characters of an expression that a verdict shows."""
WARM_UP = (
    ("\\frac{1}{2}", "It is 3/4, and the answer is $x = \\frac{1}{3}$."),
    ("\\{1, \\sqrt{2}\\}", "\\boxed{\\{\\frac{3}{2}, -x\\}}"),
    ("(-\\infty, 3) \\cup (5, \\infty)", "\\boxed{[2, 5)}"),
    ("x^{2} - 5x + 6", "\\boxed{(x - 2)(x - 4)}"),
    ("12\\pi", "\\boxed{12.5 \\cdot \\pi}"),
    ("25\\%", "\\boxed{2 < x \\le 3}"),
)
"""Expected answers and answers of many kinds, with which `warm_up` fills caches."""
_WORDS = re.compile(r"[A-Za-z ]{3,}")
_PERCENT = re.compile(r"(-?[\d.,]+)\s*\\?%")
_EVALUATED = re.compile(r"\\(?:[dt]?binom|d?choose|det)\b")
"""Commands that math-verify evaluates while it reads. Only the text shows that they were there."""
_GAP = (
    r"\\[,!;: ]|\\(?:thin|med|thick)space(?![A-Za-z])\s*|(?:\\(?:math\w+|text))?\{(?:,|~|\\[,!;: ])\}|~"
    r"|[\u00a0\u2007-\u200a\u202f]"
)
_GROUPED = re.compile(rf"(?<=\d)(?:{_GAP})(?=\d{{3}}(?!\d))")
"""Space, or a comma in braces, between groups of three digits."""
_GROUPED_WIDELY = re.compile(r"(?<=\d)(?:\\(?:q?quad|enspace|enskip)(?![A-Za-z])|,\\[,;: ])\s*(?=0\d\d(?!\d))")
"""Space that also stands between two numbers, before a group of digits that is no number of its own."""
_GROUPED_PLAINLY = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")
_SPACE = re.compile(
    r"~|\\[,;: ]|\\(?:(?:thin|med|thick)space|enspace|enskip)(?![A-Za-z])|\\hspace\*?\s*\{[^{}]*\}"
    r"|[\u00a0\u2007-\u200a\u202f]"
)
_UNSEEN = re.compile(r"[\u200b-\u200d\u2060\ufeff]")
_PLAIN = {
    **{wide: chr(wide - 0xFEE0) for wide in range(0xFF10, 0xFF1A)},
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2212), "-"),
    **{
        ord(sign): f"\\frac{{{over}}}{{{under}}}"
        for sign, over, under in ("½12", "⅓13", "⅔23", "¼14", "¾34", "⅕15", "⅛18")
    },
    **{ord("∞"): "\\infty ", ord("∅"): "\\emptyset ", ord("℃"): "°C", ord("℉"): "°F"},
}
"""Plain text of digits in full width, of dashes that stand for a minus, and of signs for fractions, infinity, the empty
set and temperatures, by their codes.
"""
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_POWER = re.compile(rf"(?<=[\w)}}\]])[{_RAISED}]+")
_LOWERED = str.maketrans(_RAISED, "0123456789-")
_ROOT = re.compile(r"√\s{0,9}(?:\{([^{}]*)\}|\(([^()]*)\)|(\d+(?:\.\d+)?|[A-Za-z]))")
_TIMES = re.compile(r"(?<=[\w)}])\s{0,9}[×·⋅]\s{0,9}(?=[\w(\\√])")  # noqa: RUF001
_PI = re.compile(r"(?<![A-Za-z\\{])pi(?![A-Za-z}])")
_MARKDOWN = re.compile(r"(\*{1,2}|`)([^*`]+)\1")
_PER_CENT = re.compile(r"(-?[\d.,]*\d)\s*(?:\\text\{\s*)?per\s?cent\s*\}?")
_SUBSCRIPT = re.compile(r"(?<=\d)_(?:\{([^{}]*(?:\{[^{}]*\})?)\}|(\w))")
"""Base behind a number."""
_SI = re.compile(r"\\num\s*\{([^{}]*)\}|\\(?:SI|qty)\s*\{([^{}]*)\}\s*\{([^{}]*)\}|\\(?:si|unit)\s*\{([^{}]*)\}")
"""Numbers and units in the commands of LaTeX's siunitx."""
_UNDERSCORED = re.compile(r"(?<=\d)_(?=\d{3}(?!\d))")
_BRACED = r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}"
_BEGINS_AS_A_VALUE = r"(?=\{\s*(?:[A-Za-z]\s*=\s*)?[-+(]?\s*(?:\.?\d|\\(?:[dtc]?frac|sqrt|pi)))"
_DRESS = re.compile(
    rf"(?<![\^_}}A-Za-z])(?:\\(?:boldsymbol|bm|pmb|underline|textcolor\s*\{{[^{{}}]*\}}"
    rf"|(?:math(?:bf|rm|it|sf|tt|normal)|text(?:bf|it|rm)|symbf|emph)\s*{_BEGINS_AS_A_VALUE})\s*{_BRACED}"
    rf"|\{{\s*\\color\s*\{{[^{{}}]*\}}([^{{}}]*)\}})"
)
"""Bold and other fonts of values, a line below and colour, which make no other value."""
_UNIT_IN_BRACES = re.compile(r"(?<=[\d\s])\{\s*(\\text\{[^{}]*\})\s*\}")
_MICRO = re.compile(r"(?<=\d)(\s*)\\mu\s*\\text\{\s*(\w+)\s*\}")
_IN_SIGNS = frozenset({"%", "°|°C|°F"})
"""Units that math-verify reads, and that change a number."""
_PRICE = re.compile(r"\$(?=[\d.])[^$]*")
_DOLLARS = re.compile(r"^\$+|(?<!\\)\$+$")
_FONT = re.compile(
    r"\\(?:mathrm|mathit|mathsf|mathtt|mbox|text\w*|rm|operatorname(?=\{\w+\}\W*$))\s*\{([\w ./^]+)\}"
    r"|\{\s*\\rm\s([\w ./^]+)\}"
)
_DEEPEST = 3
"""Largest number of commands of dress within one another that are read."""
_CONSTANTS = frozenset("eij")
"""Letters that stand for numbers, also in an upright font."""
_OHM = re.compile(r"(?<=\d)(\s*)(?:[kM]|\\mu)?\s*\\Omega(?![A-Za-z])")
_ANGSTROM = re.compile(r"(?<=\d)(\s{0,9})(?:\\(?:AA|angstrom)(?![A-Za-z])|\\mathring\s*(?:\{A\}|A)|[Å\u212b])")
_DEGREE = re.compile(r"°|\\(?:text)?degrees?(?![A-Za-z])")
_EQUALS = re.compile(
    r"^(?:\s*(?::?=|[≈≃≅]|\\(?:approx(?:eq)?|thickapprox|simeq|sim|cong|doteq|therefore)(?![A-Za-z])"
    r"|(?:\\text\{\s*)?(?:approximately|approx\.?|about|roughly)\s*\}?(?=[\s\d\\$])))+\s*",
    re.IGNORECASE,
)
"""Signs and words before a value that say that something equals it, or nearly does."""
_COMPARES = re.compile(
    r"\s*(?:[<>≤≥≠≲≳]|\\not(?![A-Za-z])|\\(?:[lg](?:e|eq|t|l|g|eqq|eqslant|esssim|trsim)|neq?|propto|in)(?![A-Za-z]))"
)
"""Sign before a value that says that something does not equal it."""
_FULL_STOP = re.compile(r"(?<=[\w})\]$])\s*(?:\\?[.。]|[;,]|\\\\)$")
"""Full stop at the end, or another mark that says nothing there."""
_TEXT = re.compile(r"\\text\{([^{}]*)\}")
_NUMBER_AND_WORDS = re.compile(rf"({PLAIN_NUMBER.pattern})\s+([A-Za-z]{{3,}}[A-Za-z ,./'\u2019-]*)")
_JOINED = re.compile(r"\b(?:and|or)\b", re.IGNORECASE)
_FIRST_VALUE = re.compile(r"\d|\\(?:pi|infty)(?![A-Za-z])")
_LAST_VALUE = re.compile(
    r"(?s:.*(?:[:=]|\b(?:is|are|equals|costs|about|approximately|roughly)\b))?\s*([^\s:=][^:=\n]{0,60})\Z"
)
"""End of an answer: all of it, or what stands behind a colon, an equals sign or such a word."""
_BRACKET = re.compile(r"(?:[^({=]*(?:=|\\in\b)\s*)?(\\\{|\()")


def verify_within(seconds: float, expected: str, answer: str, question: str = "") -> tuple[float, str]:
    """Returns the result of `verify_answer`, and has the kernel end this process after `seconds`, also in C code.

    It is called in a forked process. The parent lives on, so that the next call need not import anything again.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return verify_answer(expected, answer, question)


def verify_answer(expected: str, answer: str, question: str = "") -> tuple[float, str]:
    """Returns 1 if the answer (its last box, if it has one) equals the expected one, else 0; and a text with the
    reason. Returns 0 also for an answer that is longer than `LONGEST`, has no expression, is left to compute, or has words
    behind a number that are no unit, nor words of the expected answer, nor what `question` counts.
    """
    logging.getLogger("math_verify").setLevel(logging.ERROR)  # each process would warn that the time limits are off
    box, inside = last_boxed(answer), last_boxed(expected)
    counted = counted_in(question)
    expected = with_digits(_bare(expected if inside is None else inside), counted)
    said = answer.strip() if box is None else box
    if len(said) > LONGEST:
        return 0.0, f"{len(said)} characters are not read as an answer"
    if _WORDS.fullmatch(expected):  # as an expression it would be a product of its letters, in any order
        words = _FULL_STOP.sub("", _TEXT.sub(r"\1", _bare(said)).strip())
        return float(folded(words) == folded(expected)), f"{_short(said)}, expected the words {expected!r}"
    if box is None and split_quantity(expected) is not None:
        box = _last_quantity(said)
    if box is not None:
        expected, said, refused = _compared(expected, box, question)
        if refused:
            return 0.0, refused
    gold, given = _read_alone(expected), _read_alone(said) if box is not None else _read_within(said, counted)
    if not gold or not given:
        return 0.0, "no expression was found" if gold else f"the expected answer {expected!r} is no expression"
    if _begins_with_a_relation(given) != _begins_with_a_relation(gold):
        return 0.0, f"{_short(given[-1])} is a relation without its left side, expected {_short(gold[-1])}"
    if not _are_equal(gold, given) or not _bases(given) <= _bases(gold):
        return 0.0, f"{_short(given[-1])}, expected {_short(gold[-1])}"
    if _is_left_to_compute(given) and not _is_left_to_compute(gold):
        return 0.0, f"{_short(given[-1])} equals {_short(gold[-1])}, but is left to compute"
    return 1.0, f"{_short(given[-1])} equals {_short(gold[-1])}"


def warm_up() -> None:
    """Fills the caches that a first call needs. Forks inherit them, and then take 20 ms instead of 150."""
    for expected, answer in WARM_UP:
        verify_answer(expected, answer)


def _are_equal(gold: list[Any], given: list[Any]) -> bool:
    """Says whether two lists of values are equal. An unsolved relation and its solution are not; nor a pair and a set.

    `gold`, `given`: values as `_read` returns them, for the expected answer and the answer.
    """
    if is_left_to_solve(given[0], gold[0]) or {_bracket(gold), _bracket(given)} == {"(", "\\{"}:
        return False
    exact_gold, exact_given = [to_exact(one) for one in gold], [to_exact(one) for one in given]
    equal: bool = verify(
        exact_gold, exact_given, numeric_precision=PLACES, allow_set_relation_comp=True, timeout_seconds=None
    )
    return equal


def _begins_with_a_relation(read: list[Any]) -> bool:
    return _COMPARES.match(str(read[-1])) is not None


def _bases(read: list[Any]) -> set[str]:
    """Returns the bases, other than ten, that are written behind numbers in values that `_read` returned."""
    return {first or second for first, second in _SUBSCRIPT.findall(str(read[-1]))} - {"10"}


def _is_left_to_compute(read: list[Any]) -> bool:
    return is_left_to_compute(read[0]) or _EVALUATED.search(str(read[-1])) is not None


def _bracket(read: list[Any]) -> str | None:
    """Returns the bracket, round or curly, around values that `_read` returned; None if there is none."""
    found = _BRACKET.match(str(read[-1]))
    return found[1] if found and isinstance(read[0], Set | Tuple | Eq) else None


def _short(written: Any) -> str:
    text = str(written)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _bare(text: str) -> str:
    """Returns an expression that is tidy (`_tidy`), without dollar signs or Markdown around it, a full stop at its end,
    plain spaces that group its digits, and signs of equality before it; with a sign for the word pi.
    """
    marked = _MARKDOWN.fullmatch(text.strip())
    bare = _FULL_STOP.sub("", text.strip() if marked is None else marked[2])
    bare = f"\\{bare}" if _PRICE.fullmatch(bare) else bare
    tidy = _GROUPED_PLAINLY.sub("", _tidy(_DOLLARS.sub("", bare).strip()))
    value = in_usual_signs(value_of(_EQUALS.sub("", _FULL_STOP.sub("", tidy.strip()))))
    return without_mixed_numbers(_PI.sub(r"\\pi ", value).strip())


def _tidy(text: str) -> str:
    """Returns a text without spaces of LaTeX that group digits; other such spaces become plain ones. Units in another
    font become text; numbers and constants in another font lose it.
    """
    undressed = without_dress(_UNSEEN.sub("", text).translate(_PLAIN))
    plain = _SI.sub(_without_si, _UNDERSCORED.sub("", _with_commands(undressed)))
    for _ in range(_DEEPEST):
        plain = _DRESS.sub(lambda found: found[1] or found[2] or "", plain)
    spaced = _SPACE.sub(" ", _GROUPED.sub("", plain))
    spaced = _ANGSTROM.sub(r"\1\\text{angstrom}", _DEGREE.sub(r"^{\\circ}", spaced))
    fonted = _UNIT_IN_BRACES.sub(r"\1", _FONT.sub(_unfonted, spaced))
    in_text = _OHM.sub(r"\1\\text{ohm}", _MICRO.sub(r"\1\\text{u\2}", fonted))
    return with_slashes(in_text)


def _without_si(found: re.Match[str]) -> str:
    """Returns a number and unit of siunitx as LaTeX's text; without a unit that is made of commands."""
    number, unit = found[1] or found[2] or "", found[3] or found[4] or ""
    return number if not unit or "\\" in unit else f"{number}\\text{{ {unit}}}"


def _with_commands(text: str) -> str:
    """Returns a text with LaTeX's commands for raised digits, roots and signs of multiplication (x², √2, 3×10⁵)."""  # noqa: RUF002
    raised = _POWER.sub(lambda found: f"^{{{found[0].translate(_LOWERED)}}}", text)
    rooted = _ROOT.sub(lambda found: f"\\sqrt{{{found[1] or found[2] or found[3] or ''}}}", raised)
    return _TIMES.sub(r" \\times ", rooted)


def _unfonted(found: re.Match[str]) -> str:
    inside = (found[1] or found[2]).strip()
    is_number = inside in _CONSTANTS or inside[:1].isdigit()
    return inside if is_number else f"\\text{{{found[1] or found[2]}}}"


def _compared(expected: str, box: str, question: str) -> tuple[str, str, str]:
    """Returns a bare expected answer and the inside of a box without their units and number words, and the reason why
    the box is another answer, or "".
    """
    here = split_quantity(expected)
    is_number = PLAIN_NUMBER.fullmatch(expected if here is None else here[0]) is not None
    boxed = with_digits(_bare(_GROUPED_WIDELY.sub("", box) if is_number else box), counted_in(question))
    there = split_quantity(boxed)
    if (more := _words_behind(boxed, expected, question)) is not None:
        return expected, boxed, f"{_short(box)} has words behind a number that are no unit: {_short(more)}"
    if here is not None and there is not None:
        reason = "" if are_same_units(here[1], there[1]) else f"{_short(box)} has another unit than {_short(expected)}"
        return here[0], there[0], reason
    if here is not None and is_number and not _IN_SIGNS & here[1].keys():
        amount = _without_unit(boxed, there, here[0], question)
        if PLAIN_NUMBER.fullmatch(amount):
            return here[0], amount, ""
    return expected, _without_unit(boxed, there, expected, question), ""


def _last_quantity(said: str) -> str | None:
    """Returns the quantity, a number with a unit, with which an answer without a box ends; None if it ends otherwise."""
    found = _LAST_VALUE.match(said)
    return found[1] if found is not None and split_quantity(_bare(found[1])) is not None else None


def _words_behind(boxed: str, expected: str, question: str) -> str | None:
    """Returns the first words behind a number in a bare box that may make another number of it, or deny it; None if
    there are none. `is_ending` says which words leave a number as it is.
    """
    if _PER_CENT.fullmatch(boxed):
        return None
    first = _FIRST_VALUE.search(boxed)
    is_one = PLAIN_NUMBER.fullmatch(expected) is not None or split_quantity(expected) is not None
    for found in _TEXT.finditer(boxed, first.end() if first else len(boxed)):
        words = found[1].strip()
        is_last = found.end() == len(boxed)
        if not is_ending(words, expected, question, is_last) or (is_one and not is_last and _JOINED.search(words)):
            return words
    plain = _NUMBER_AND_WORDS.fullmatch(boxed) if PLAIN_NUMBER.fullmatch(expected) else None
    return plain[2] if plain is not None and not is_ending(plain[2], expected, question) else None


def _without_unit(boxed: str, quantity: tuple[str, Powers] | None, expected: str, question: str) -> str:
    """Returns a bare box without its unit, if a number is expected, and as a number what is not a percentage; the sign
    of a currency goes too. Otherwise percent is a sign.

    `quantity`: number and unit of the box, if it has a unit.
    """
    if not PLAIN_NUMBER.fullmatch(expected):
        percent = _PER_CENT.fullmatch(boxed)
        return boxed if percent is None else f"{percent[1]}\\%"
    if quantity is not None:
        return boxed if "%" in quantity[1] else quantity[0]
    bare = CURRENCY.sub("", boxed)
    words = _NUMBER_AND_WORDS.fullmatch(bare)
    if words is not None and is_ending(words[2], expected, question):
        return words[1]
    both = NUMBER_AND_UNIT.fullmatch(bare)
    return both[1] if both is not None and not both[2] else bare


def _read_alone(expression: str) -> list[Any]:
    """Reads an expression that makes up the whole text, and returns the same as `_read`. A percentage is read as plain
    text, because % begins a comment in LaTeX.
    """
    percent = _PERCENT.fullmatch(expression)
    return _read(f"{percent[1]}%" if percent else f"\\boxed{{{expression}}}")


def _read_within(text: str, counted: frozenset[str]) -> list[Any]:
    """Reads the last expression of a text, and returns the same as `_read`. `counted`: words that the question counts."""
    return _read(without_mixed_numbers(with_digits(_tidy(text), counted), in_prose=True))


def _read(text: str) -> list[Any]:
    """Returns the values in a text, and the text that was read for them as the last item; an empty list without any."""
    found: list[Any] = parse(text, READ, parsing_timeout=None)
    return found
