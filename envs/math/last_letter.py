r"""Tells a letter at the end of an expression that is a variable from one that is a unit.

math-verify cuts it off as a unit: of `\pi r^2h` it would read `\pi r^2`, and of `5m` 5.
"""

from __future__ import annotations

import re

from ray_gym.envs.math.unit_table import powers_of
from ray_gym.envs.math.units import SYMBOL, split_quantity

_SPACE = r"(?:\s|~|\\[,;: ]|\\cdot(?![A-Za-z])){0,9}"
GREEK = (
    "alpha|beta|gamma|delta|(?:var)?epsilon|zeta|eta|(?:var)?theta|iota|kappa|lambda|mu|nu|xi|(?:var)?rho|(?:var)?sigma|tau"
    "|upsilon|(?:var)?phi|chi|psi|omega"
)
_FUNCTIONS = "sin|cos|tan|cot|sec|csc|sinh|cosh|tanh|arcsin|arccos|arctan|log|lg|ln|exp"
_INDEX = r"(?:\s?[_^]\s?(?:\w|\{(?:[^{}]|\{[^{}]*\})*\}))"
_BEHIND_A_VARIABLE = re.compile(
    rf"(?:(?<![A-Za-z\\])(?P<letter>[A-Za-z]){_INDEX}{{0,2}}|\\(?:{GREEK}|{_FUNCTIONS})(?![A-Za-z]){_INDEX}{{0,2}})"
    rf"(?P<space>{_SPACE})(?P<last>[cdghlmost])\Z"
)
_BEHIND_A_VALUE = re.compile(rf"(?:\\pi|\}})(?<!_\}}){_SPACE}(?P<last>[cdghlmost])\Z")
_LETTER = re.compile(r"(?:\\(?:text\w*|math\w*|mbox)\s?\{[^{}]*\}|\\[A-Za-z]+)|(?P<letter>[A-DF-Za-df-z])")
_EQUALS = re.compile(r"=|≈|\\(?:approx|simeq|cong|doteq)(?![A-Za-z])")
_ORDINAL = re.compile(r"\d\s?(?:th|st)\Z|(?<!1)3rd\Z")
_BEHIND_A_NUMBER = re.compile(r"\d(?P<space>\s?)(?P<last>[cdghlmost])\Z")
_UNIT_AT_END = re.compile(r"\\text\{([^{}]*)\}\s*\Z")
_PER_UNIT = re.compile(rf"(?P<kept>\$[^$]*\$)|(?<![A-Za-z]){SYMBOL}/[A-Za-z]+")
"""Units with a slash (`km/h`), but not the quotient of two variables, which stands in marks of mathematics."""
_IN_TEXT = re.compile(r"\\(?:text\w*|math\w*|mbox)\s?\{[^{}]*\}")


def ends_in_variable(expression: str) -> bool:
    r"""Says whether an expression ends in a variable whatever is expected: behind another one (`r^2h`, `\omega t`), or behind a
    fraction or root that has one.
    """
    value = _behind_its_name(expression)
    found = _BEHIND_A_VARIABLE.search(value)
    if found is not None:
        is_run = found["letter"] is not None and not found["space"] and found.end("letter") == found.start("last")
        is_unit = is_run and (powers_of(found["letter"] + found["last"]) is not None or _ORDINAL.search(value))
        return not is_unit
    behind = _BEHIND_A_VALUE.search(value)
    return behind is not None and any(part["letter"] for part in _LETTER.finditer(value[: behind.start("last")]))


def may_end_in_variable(expected: str, answer: str, question: str) -> bool:
    r"""Says whether an expected answer ends in a letter that is no unit: `\pi d`, `\sqrt{3}s`, and `2t` if the question has t,
    or the answer has another letter there, so that both have to be read.
    """
    value = _behind_its_name(expected)
    if (number := _BEHIND_A_NUMBER.search(value)) is not None:
        other = _BEHIND_A_NUMBER.search(answer)
        return _names_variable(number["last"], question) or (other is not None and other["last"] != number["last"])
    return _BEHIND_A_VALUE.search(value) is not None or ends_in_variable(expected)


def with_unit_in_text(expected: str, answer: str, question: str) -> str:
    r"""Returns an expected number, root or multiple of pi whose last letter is a unit (`10\pi m`) with the unit in LaTeX's
    text: if the answer has this unit in text (behind a number, any unit but this letter), or, behind a root or pi, the question
    has no such variable. Other expected answers, and those to no question, are returned as they are.
    """
    value = _behind_its_name(expected)
    number = _BEHIND_A_NUMBER.search(value)
    behind = None if ends_in_variable(expected) else number or _BEHIND_A_VALUE.search(value)
    unit = powers_of(behind["last"]) if behind is not None else None
    if behind is None or unit is None:
        return expected
    given, quantity = _UNIT_AT_END.search(answer), split_quantity(answer)
    if number is None:
        is_given = given is not None and powers_of(given[1]) == unit
    else:
        is_given = quantity is not None and (given is None or given[1].strip() != behind["last"])
    is_unit = is_given or (number is None and question and not _names_variable(behind["last"], question))
    return f"{expected[:-1].rstrip()} \\text{{{behind['last']}}}" if is_unit else expected


def _names_variable(name: str, question: str) -> bool:
    """Says whether a question has a variable: its letter alone, and neither behind a number nor behind `in`, or in
    `km/h`, as a unit.
    """
    plain = _PER_UNIT.sub(lambda found: found["kept"] or " ", _IN_TEXT.sub(" ", question))
    return re.search(rf"(?<![A-Za-z\\'\u2019\d])(?<!\d[\s~])(?<!\bin ){name}(?![A-Za-z])", plain) is not None


def _behind_its_name(expression: str) -> str:
    return _EQUALS.split(expression)[-1]
