"""Brings the texts of options to one spelling, whether they are in LaTeX, in Unicode's signs or in plain characters."""

from __future__ import annotations

import re
import unicodedata

from ray_gym.graders import folded

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱ"
_RAISED = re.compile(f"[{_SUPERSCRIPTS}]+")
_LOWERED = str.maketrans(_SUPERSCRIPTS, "0123456789+-ni")
_FRACTION_SIGN = re.compile(r"(\d?)([\u00bc-\u00be\u2150-\u215e\u2189])")
_SIGNS = str.maketrans(
    "\u2044\u2215\u2018\u2019\u201c\u201d\u2010\u2011\u2012\u2013\u2212\u22c5\u2219", "//''\"\"-----··"
)
_ARGUMENT = r"(?:\{([^{}]*)\}| ?([^\s{}\\]))"
_FRACTION = re.compile(rf"(?:(\d) ?)?\\[dtc]?frac ?{_ARGUMENT} ?{_ARGUMENT}")
_ROOT = re.compile(rf"\\sqrt ?{_ARGUMENT}")
_ROOT_OF_BRACKETS = re.compile(r"√ ?\((\w+)\)|√ ")
_POWER = re.compile(r"\^ ?\{([^{}]*)\}")
_CHARGE = re.compile(r"(?<=[A-Za-z\d)\]])\^(?:\((\d*[+-])\)|([+-]))(?![\w(])")
"""Charge of an ion, which plain text puts behind it: Fe3+."""
_INDEX = re.compile(r"(?<=[A-Za-z)\]])_ ?(?:\{([^{}]*)\}|(\d+|[A-Za-z](?!\w)))")
_DEGREES = re.compile(r"\^ ?\{? ?\\circ ?\}?|\\degrees?(?![A-Za-z])")
_COMMAND = re.compile(r"\\([A-Za-z]+) ?")
_GREEK_NAMES = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega"
_GREEK = dict(zip(_GREEK_NAMES.split(), "αβγδεζηθικλμνξπρστυφχψω", strict=True))
_NAMES_BY_SIGN = {
    **{"ε": "varepsilon", "φ": "varphi", "θ": "vartheta", "∞": "infty", "±": "pm", "∓": "mp", "·": "cdot", "÷": "div"},
    **{"×": "times", "≤": "le leq leqslant", "≥": "ge geq geqslant", "≠": "ne neq", "≈": "approx", "<": "lt"},  # noqa: RUF001
    **{">": "gt", "→": "to rightarrow longrightarrow", "...": "ldots dots cdots", "∈": "in", "∪": "cup", "∩": "cap"},  # noqa: RUF001
    **{"∅": "emptyset", "∘": "circ", "Å": "AA angstrom"},
}
_COMMANDS = {
    **_GREEK,
    **{name.capitalize(): letter.upper() for name, letter in _GREEK.items()},
    **{name: sign for sign, names in _NAMES_BY_SIGN.items() for name in names.split()},
}
"""Signs by the names of LaTeX's commands."""
_ESCAPED = re.compile(r"\\([%&#_])")
_AROUND_A_SIGN = re.compile(r"(?<=[\w)}\]°]) ?([-+=×·÷/<>≤≥≠≈±→∈∪∩]) ?(?=[\w(√{\[])")  # noqa: RUF001
_AFTER_A_LETTER_OR_SIGN = re.compile(r"(?<=[α-ω≤≥<>≈±≠]) (?=[\w(-])")  # noqa: RUF001
_GROUPED = re.compile(
    r"(?<=\d)(?:\{,\}|\\,|(?<=[^\d,]\d),|(?<=[^\d,]\d\d),|(?<=[^\d,]\d{3}),|(?<=\A\d),|(?<=\A\d\d),|(?<=\A\d{3}),)(?=\d{3}(?!\d))"
)
"""Comma between groups of three digits of a number."""
_BEFORE_A_UNIT = re.compile(r"(?<=\d) (?=[a-z\u00b5\u03bc°%])")
_COMMA = re.compile(r" ?, ?")
_BARE_POINT = re.compile(r"(?<![\w.])\.(?=\d)")
_DEEPEST = 4
"""Largest number of fractions and roots within one another that are read."""


def one_spelling(text: str) -> str:
    r"""Returns a text in lower case and in one spelling: `$x^{2}$` and `x²` are `x^2`, `H₂O` and `H_2O` are
    `h2o`, `½` and `\frac12` are `1/2`; `1,000` is `1000`, `.5` is `0.5`, and `(3, 4)` is `(3,4)`. Dollar signs, spaces around signs
    and between a number and a word (`12 km`), and full stops at the end are left out. It takes linear time.
    """
    grouped = _COMMA.sub(",", _GROUPED.sub("", _BARE_POINT.sub("0.", text)))
    signs = _FRACTION_SIGN.sub(lambda found: _spaced(found[1], _compatible(found[2])), grouped)
    raised = _RAISED.sub(lambda found: f"^{{{found[0].translate(_LOWERED)}}}", signs)
    spelled = _compatible(_DEGREES.sub("°", raised)).replace("$", "").replace("\\ ", " ")
    for _ in range(_DEEPEST):
        before = spelled
        spelled = _ROOT.sub(lambda found: f"√{_operand(found[1] or found[2] or '')}", spelled)
        spelled = _FRACTION.sub(_in_a_line, spelled)
        if spelled == before:
            break
    commands = _COMMAND.sub(lambda found: _COMMANDS.get(found[1], found[0]), _ESCAPED.sub(r"\1", spelled))
    lowered = _INDEX.sub(lambda found: found[1] or found[2] or "", commands)
    powers = _POWER.sub(lambda found: f"^{_operand(found[1])}", lowered)
    plain = _CHARGE.sub(lambda found: found[1] or found[2], powers)
    roots = _ROOT_OF_BRACKETS.sub(lambda found: f"√{found[1] or ''}", folded(plain.replace("\\", "")))
    closed = _AFTER_A_LETTER_OR_SIGN.sub("", _AROUND_A_SIGN.sub(r"\1", roots))
    return _BEFORE_A_UNIT.sub("", closed).rstrip(". ")


def _compatible(text: str) -> str:
    """Returns a text in Unicode's NFKC, with plain slashes, quotes and hyphens."""
    return unicodedata.normalize("NFKC", text).translate(_SIGNS)


def _spaced(whole: str, fraction: str) -> str:
    return f"{whole} {fraction}" if whole else fraction


def _in_a_line(found: re.Match[str]) -> str:
    over, under = _operand(found[2] or found[3] or ""), _operand(found[4] or found[5] or "")
    return _spaced(found[1] or "", f"{over}/{under}")


def _operand(text: str) -> str:
    """Returns a part of an expression, in brackets unless it is one number or name."""
    bare = text.strip()
    return bare if re.fullmatch(r"[-+]?[\w.√]+|\\[A-Za-z]+", bare) else f"({bare})"
