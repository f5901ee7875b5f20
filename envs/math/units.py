"""Reads units of measurement behind numbers, in plain text and in LaTeX."""

from __future__ import annotations

import re

from ray_gym.envs.math.unit_table import MONEY_CODES, Powers, are_same_units, powers_of

_POWER = r"(?:\^(?:-?[1-4]|\{-?[1-4]\}))?"
SYMBOL = (
    r"(?:[kcdmn]?m|mi|ft|in|yd|[km]?g|lb|oz|[mcd]?[lL]|m?s|h|hr|min|[kMm]?(?:N|J|W|V|A|Pa|Hz)|[kMGm]?eV|K|mol|kWh)"
    + _POWER
)
"""Symbol of a unit, as a pattern."""
_TIMES = r"(?:\s?(?:\\(?:cdot|times)(?![A-Za-z])|\*)\s?|\s)"
_SYMBOLS = rf"{SYMBOL}(?:(?:\s?/\s?|{_TIMES}){SYMBOL}){{0,3}}(?:\s?/\s?\(\s?{SYMBOL}(?:{_TIMES}{SYMBOL}){{0,2}}\s?\))?"
_DIGITS = r"(?<![\d.])(?:\d{1,3}(?:,\d{3}){1,9}(?![\d,])(?:\.\d+)?|(?:\d|\.\d)(?:\.?\d)*+(?!,\d))"
_NUMBER = rf"[-+]?(?:{_DIGITS}(?:/\d+)?|\\[dtc]?frac\s?(?:\{{\d+\}}|\d)\s?(?:\{{\d+\}}|\d))"
_OVER = r"\\(?:[dtc]?frac|nicefrac|sfrac)\s?"
PLAIN_NUMBER = re.compile(_NUMBER)
"""Number, or a fraction of two."""
NUMBER_AND_UNIT = re.compile(
    rf"({_NUMBER})\s*?(?:\s([A-Za-z]{{3,}}(?: [A-Za-z]+)*)|[µμ][A-Za-z]{{1,3}}"
    rf"|((?:\s|(?=[A-Za-z]{{2}})){_SYMBOLS}|\s{_OVER}\{{{_SYMBOLS}\}}\s?\{{{_SYMBOLS}\}}))"
)
"""Number with words or symbols of units behind it; the groups have the number, the words and the symbols. Symbols of one
letter, which may be a variable, have a space before.
"""
_TEXT = rf"\\text\{{[A-Za-z ^\d/.*()%$¢€£¥₹₩\u00b2\u00b3\u00b5\u03bc-]+\}}{_POWER}"
_TEXTS = rf"{_TEXT}(?:\s?(?:(?:\\(?:cdot|times)|/)\s?)?{_TEXT}){{0,3}}"
_OVER_TEXTS = re.compile(rf"(?<=[\w)}}\] ]) ?{_OVER}\{{\s?({_TEXTS})\s?\}}\s?\{{\s?({_TEXTS})\s?\}}")
_NUMBER_AND_TEXT = re.compile(rf"((?:(?!\\text\{{).)*(?:[\d)}}\]]|\\pi))\s{{0,3}}({_TEXTS})")
_SYMBOLS_AT_END = re.compile(rf"(?:[\d)}}]|\\pi)\s{{0,3}}({_SYMBOLS})\Z")
_TEXT_AT_END = re.compile(r"\\text\{([^{}]*)\}\s*\Z")
_CODE = rf"(?:{MONEY_CODES})(?![A-Za-z])"
_SIGN = rf"(?:\\text\{{\s*(?:[€£¥₹₩]|\\?\$|{_CODE})\s*\}}|[€£¥₹₩]|{_CODE}|\\(?:\$|(?:euro|pounds)(?![A-Za-z])))"
_BEFORE = re.compile(rf"([-+]?)\s?(?:(?:US|CA|AU|NZ|HK|[AC])\s?\\?\$|({_SIGN}))\s*")
CURRENCY = re.compile(rf"^(?:(?:US|CA|AU|NZ|HK|[AC])\s?\\?\$|{_SIGN})\s*|\s*{_SIGN}$")
"""Sign of money before a number or behind it."""
_DEGREES = rf"\^\s?(?:\{{\s?\\circ\s?\}}|\\circ(?![A-Za-z]))\s{{0,3}}(?:[CF](?![A-Za-z])|{_TEXT})?"
_PRIMES = r"(?:'{1,2}|\"|\^\s?(?:\\prime|\{\s?\\prime\s?\}))"
_PART = r"(?:[-+\d.,/ (){}]|\\(?:[dtc]?frac|sqrt|pi|times|cdot)(?![A-Za-z]))"
_NUMBER_AND_SIGN = re.compile(
    rf"((?:[^=]{{0,60}}=\s?)?{_PART}*(?:[\d)}}]|\\pi))\s?({_DEGREES}|{_PRIMES}|\\?%|¢|{_SIGN})"
)
_WORDED = re.compile(rf"({_NUMBER})\s((?:sq|cu)\.?\s[A-Za-z. ]+|[AaPp][Mm]|[A-Za-z. ]{{3,}}(?:\s?/\s?[A-Za-z. ]+)?)")
_NAMED = re.compile(
    r"\\?[A-Za-z]{1,9}(?:\s?_\s?(?:\w|\{(?:[^{}]|\{[^{}]{0,30}\}){0,30}\}))?\s?(?:=|\\approx(?![A-Za-z])|\u2248)\s?"
    rf"(?P<quantity>{NUMBER_AND_UNIT.pattern}|{_WORDED.pattern})"
)
_MICRO = re.compile(
    rf"({_NUMBER})\s{{0,3}}\\mu\s{{0,3}}([A-Za-z]{{1,3}})(\^(?:[1-4]|\{{\s?-?[1-4]\s?\}}))?(?:\s?/\s?([A-Za-z]{{1,3}}))?"
)
"""Number with a Greek mu before what may be a unit, or a variable."""
_MOLAR = re.compile(rf"({_NUMBER}\s{{0,3}})(?:(?<=\s)|\\text\{{\s?)([mun\u00b5\u03bc]?)M\s?\}}?")
"""Number with M for mol per litre behind it, which may also be a variable, or a million."""
_MOLAR_TEXT = re.compile(r"(?<=[\d)}\]])(\s{0,3})\\text\{\s?([mun\u00b5\u03bc]?)M\s?\}")
_SCALED_MOLAR = re.compile(r"[mun\u00b5\u03bc]M\s?\}?\Z")
_MU_AS_FACTOR = re.compile(rf"{_NUMBER}\\mu")
_PER_TEXT = re.compile(r"(?<=\d)\s?/\s?(?:\\text\{([^{}]*)\}|([A-Za-z]{2,20})\Z)")
_SLASHED = re.compile(rf"{_OVER}\{{([^{{}}]*)\}}\s?\{{([^{{}}]*)\}}")


def with_slashes(text: str) -> str:
    r"""Returns a text whose units in fractions of LaTeX have a slash: `5 \frac{\text{m}}{\text{s}}` becomes
    `5 \text{m}/\text{s}`.
    """
    return _OVER_TEXTS.sub(r" \1/\2", text)


def split_quantity(expression: str) -> tuple[str, Powers] | None:
    """Returns the number of a quantity, and the powers of its units by their symbols: `5 m/s^2` and `5 meters per second
    squared` are 5, with m to the power of 1 and s of -2. Signs of money, degrees and percent are units, too. Returns None
    for an expression without a unit of the closed table at its end, or money before it.
    """
    money = _BEFORE.match(expression)
    amount = expression if money is None else f"{money[1]}{_PER_TEXT.sub(_in_text, expression[money.end() :])}"
    number, unit = _parts(amount) or (amount, "")
    if money is not None:
        unit = f"{_money(money[2] or '$')} {unit}"
    powers = powers_of(_SLASHED.sub(r"\1/\2", unit))
    return (number.rstrip(), powers) if powers else None


def bare_quantity(expression: str) -> str:
    """Returns a number with plain words or symbols of units behind it without a name before it (`v = 5 m/s`); other
    expressions as they are.
    """
    named = _NAMED.fullmatch(expression)
    return expression if named is None else named["quantity"]


def with_micro_units(expected: str, answer: str) -> tuple[str, str]:
    r"""Returns two bare expressions in which mu before a letter is micro (`5 \mu m` becomes `5 \text{um}`), if each is a
    number with such a unit, or one number or quantity anyway; else both as they are, in which the letters are variables, as
    they are in an expected `3\mu g`, without a space, where the answer has no unit.
    """
    is_product = _MU_AS_FACTOR.match(expected) is not None and PLAIN_NUMBER.fullmatch(answer) is not None
    micro = [_in_micro(text) for text in (expected, answer)]
    if not is_product and all(
        new is not None or PLAIN_NUMBER.fullmatch(text) or split_quantity(text)
        for new, text in zip(micro, (expected, answer), strict=True)
    ):
        return micro[0] or expected, micro[1] or answer
    return expected, answer


def with_molar_units(expected: str, answer: str, is_asked: bool) -> tuple[str, str]:
    """Returns two bare expressions with `mol/L` for M, if both are numbers with it, or `is_asked`, a question for molarity."""
    found = [_MOLAR.fullmatch(text) for text in (expected, answer)]
    is_scaled = PLAIN_NUMBER.fullmatch(expected) is not None and _SCALED_MOLAR.search(answer) is not None
    if is_scaled or (not is_asked and None in found):
        return expected, answer
    volume = "dm^3" if "dm" in expected + answer else "L"
    one, other = (
        _MOLAR_TEXT.sub(rf"\1\\text{{ \2mol/{volume}}}", text)
        if molar is None
        else rf"{molar[1]}\text{{ {molar[2]}mol/{volume}}}"
        for text, molar in zip((expected, answer), found, strict=True)
    )
    return one, other


def _in_micro(expression: str) -> str | None:
    found = _MICRO.fullmatch(expression)
    if found is None:
        return None
    number, unit, power, per = found.groups()
    text = f"\\text{{u{unit}{f'/{per}' if per else ''}}}{(power or '').replace(' ', '')}"
    return f"{number} {text}" if powers_of(text) else None


def have_same_units(one: str, other: str) -> bool:
    """Says whether two expressions, such as `2x` in text's `cm`, do not end with units that differ. Only units in LaTeX's
    text count, for a plain `m` may be a variable.
    """
    units = [powers_of(found[1]) for text in (one, other) if (found := _TEXT_AT_END.search(text)) is not None]
    return len(units) < 2 or None in units or are_same_units(units[0] or {}, units[1] or {})


def has_other_symbols(expression: str, unit: Powers) -> bool:
    r"""Says whether an expression ends with symbols of another unit than the given one, also behind pi or a root: `12\pi m`."""
    found = _SYMBOLS_AT_END.search(expression)
    given = powers_of(found[1]) if found is not None else None
    return given is not None and not are_same_units(given, unit)


def _parts(amount: str) -> tuple[str, str] | None:
    """Returns a number and the text of its unit; None for anything else."""
    plain = NUMBER_AND_UNIT.fullmatch(amount)
    if plain is not None and not plain[2]:
        return plain[1], plain[3] or amount[plain.end(1) :]
    found = _WORDED.fullmatch(amount) or _NUMBER_AND_TEXT.fullmatch(amount) or _NUMBER_AND_SIGN.fullmatch(amount)
    return (found[1], _money(found[2])) if found is not None else None


def _in_text(found: re.Match[str]) -> str:
    return f"\\text{{/{found[1] or found[2]}}}"


def _money(sign: str) -> str:
    """Returns a unit with a sign of money for its command in LaTeX."""
    return sign.replace("\\euro", "€").replace("\\pounds", "£").replace("\\$", "$")
