"""Whether two mathematical expressions are equal, by math-verify. It is called in a process of its own, which may be killed at any time.

math-verify's own time limits are off: they use signals, end no computation in C, and report "different" where nothing was found out.
"""

from __future__ import annotations

import logging
import re
import signal
from typing import Any

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify
from sympy import Number

from ray_gym.graders import folded, last_boxed

READ = (LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig())
"""LaTeX and plain expressions; what is in a box comes before all else."""
LONGEST = 2000
"""Characters that are read, from an answer's end. What is longer in a box is no answer, and regular expressions would take long."""
SHOWN = 80
"""Characters of an expression that a verdict shows."""
WARM_UP = (
    ("\\frac{1}{2}", "It is 3/4, and the answer is $x = \\frac{1}{3}$."),
    ("\\{1, \\sqrt{2}\\}", "\\boxed{\\{\\frac{3}{2}, -x\\}}"),
    ("(-\\infty, 3) \\cup (5, \\infty)", "\\boxed{[2, 5)}"),
    ("x^{2} - 5x + 6", "\\boxed{(x - 2)(x - 4)}"),
    ("12\\pi", "\\boxed{12.5 \\cdot \\pi}"),
    ("25\\%", "\\boxed{2 < x \\le 3}"),
)
"""Expected answers and answers of many kinds."""
_WORDS = re.compile(r"[A-Za-z ]{3,}")
_PERCENT = re.compile(r"(-?[\d.,]+)\s*\\?%")
_COMPUTATION = re.compile(r"[\w)}\]]\s*(?:\+|-|\*|\^|\\times|\\cdot)")
_SCIENTIFIC = re.compile(r"(?:\*|\\times|\\cdot)\s*10\s*(?:\^|\*\*)\s*\{?\s*-?\d+\s*\}?")


def verify_within(seconds: float, expected: str, answer: str) -> tuple[float, str]:
    """`verify_answer` in a process that is not the caller's: the kernel ends it when the time is up, also in the middle of C code.

    The process that it was forked from lives on, so the next call need not wait for the imports.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return verify_answer(expected, answer)


def verify_answer(expected: str, answer: str) -> tuple[float, str]:
    """1 if the answer (its last box, if it has one) equals the expected one, else 0; and why."""
    logging.getLogger("math_verify").setLevel(logging.ERROR)  # each process would warn that the time limits are off
    box, inside = last_boxed(answer), last_boxed(expected)
    expected = _bare(expected if inside is None else inside)
    if box is not None and len(box) > LONGEST:
        return 0.0, f"{len(box)} characters in a box are not read"
    if _WORDS.fullmatch(expected):  # as an expression it would be a product of its letters, in any order
        said = _bare(answer if box is None else box)
        return float(folded(said) == folded(expected)), f"{_short(said)}, expected the words {expected!r}"
    gold, given = _read_alone(expected), _read(answer[-LONGEST:]) if box is None else _read_alone(_bare(box))
    if not gold or not given:
        return 0.0, "no expression was found" if gold else f"the expected answer {expected!r} is no expression"
    if not verify(gold, given, allow_set_relation_comp=True, timeout_seconds=None):
        return 0.0, f"{_short(given[-1])}, expected {_short(gold[-1])}"
    is_number = isinstance(gold[0], Number) or _PERCENT.fullmatch(expected) is not None
    if is_number and is_left_to_compute(str(given[-1])):
        return 0.0, f"{_short(given[-1])} equals {_short(gold[-1])}, but is left to compute"
    return 1.0, f"{_short(given[-1])} equals {_short(gold[-1])}"


def warm_up() -> None:
    """What is compiled and cached at a first call: all forks have it then, and take 20 ms instead of 150."""
    for expected, answer in WARM_UP:
        verify_answer(expected, answer)


def is_left_to_compute(written: str) -> bool:
    """Whether it is a sum, a product or a power, as a question may have it; a fraction and 3.2 * 10^5 are numbers."""
    return _COMPUTATION.search(_SCIENTIFIC.sub("", written)) is not None


def _short(written: Any) -> str:
    text = str(written)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _bare(text: str) -> str:
    return text.strip().strip("$").strip()


def _read_alone(expression: str) -> list[Any]:
    """A percentage is read as plain text: in LaTeX, what follows % is a comment."""
    percent = _PERCENT.fullmatch(expression)
    return _read(f"{percent[1]}%" if percent else f"\\boxed{{{expression}}}")


def _read(text: str) -> list[Any]:
    """What it was read as, and at last the text of it."""
    found: list[Any] = parse(text, READ, parsing_timeout=None)
    return found
