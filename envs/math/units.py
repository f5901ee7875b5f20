"""Reads units of measurement behind numbers, in plain text and in LaTeX."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

_POWER = r"(?:\^(?:-?[1-4]|\{-?[1-4]\}))?"
_SYMBOL = r"(?:[kcdmn]?m|mi|ft|in|yd|[km]?g|lb|oz|[mcd]?[lL]|m?s|h|hr|min|[kMm]?(?:N|J|W|V|A|Pa|Hz)|K|mol|kWh)" + _POWER
_SYMBOLS = rf"{_SYMBOL}(?:(?:\s?(?:/|\\cdot|\*)\s?|\s){_SYMBOL}){{0,3}}"
_NUMBER = r"[-+]?(?:[\d.,]*\d(?:/\d+)?|\\[dtc]?frac\s?(?:\{\d+\}|\d)\s?(?:\{\d+\}|\d))"
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
_TEXT = rf"\\text\{{[A-Za-z ^\d/-]+\}}{_POWER}"
_TEXTS = rf"{_TEXT}(?:\s?(?:(?:\\cdot|/)\s?)?{_TEXT}){{0,3}}"
_OVER_TEXTS = re.compile(rf"(?<=[\w)}}\] ]) ?{_OVER}\{{\s?({_TEXTS})\s?\}}\s?\{{\s?({_TEXTS})\s?\}}")
_NUMBER_AND_TEXT = re.compile(rf"((?:(?!\\text\{{).)*(?:[\d)}}\]]|\\pi))\s{{0,3}}({_TEXTS})")
_SLASHED = re.compile(rf"{_OVER}\{{([^{{}}]*)\}}\s?\{{([^{{}}]*)\}}")
_ALIASES = {"hr": "h", "l": "L", "ml": "mL", "cl": "cL", "dl": "dL"}


def with_slashes(text: str) -> str:
    r"""Returns a text whose units in fractions of LaTeX have a slash: `5 \frac{\text{m}}{\text{s}}` becomes
    `5 \text{m}/\text{s}`.
    """
    return _OVER_TEXTS.sub(r" \1/\2", text)


def split_quantity(expression: str) -> tuple[str, Mapping[str, int]] | None:
    """Returns the number of a quantity, and the powers of its units by their symbols: `5 m/s^2` is 5, with m to the
    power of 1 and s of -2. Returns None for an expression without symbols of units at its end.
    """
    plain = NUMBER_AND_UNIT.fullmatch(expression)
    if plain is not None:
        number, unit = plain[1], plain[3] or ""
    else:
        found = _NUMBER_AND_TEXT.fullmatch(expression)
        number, unit = found.groups() if found is not None else ("", "")
    powers = _powers(re.sub(r"\\text\{([^{}]*)\}", r" \1", _SLASHED.sub(r"\1/\2", unit)))
    return (number, powers) if powers else None


def _powers(unit: str) -> Mapping[str, int] | None:
    """Returns the powers of a unit's symbols, of which all behind the first slash divide; None if there are others."""
    powers: Counter[str] = Counter()
    for place, side in enumerate(unit.split("/")):
        for factor in re.sub(r"\\cdot|\*", " ", side).split():
            if not re.fullmatch(_SYMBOL, factor):
                return None
            symbol, _, power = factor.partition("^")
            powers[_ALIASES.get(symbol, symbol)] += int(power.strip("{}") or 1) * (-1 if place else 1)
    return powers


_PREFIXED_NAMES = (
    r"met(?:er|re)s?|gram(?:me)?s?|seconds?|lit(?:er|re)s?|newtons?|joules?|watts?|volts?|amp(?:ere)?s?|pascals?|hertz|kelvins?"
    r"|moles?|ohms?|bytes?|bits?|calories?|electronvolts?|teslas?|henr(?:y|ies)|farads?|coulombs?|tonnes?|bars?|watt-hours?"
)
_NAMES = (
    r"inch(?:es)?|feet|foot|yards?|miles?|pounds?|ounces?|tons?|stones?|minutes?|hours?|days?|weeks?|months?|years?|decades?"
    r"|centur(?:y|ies)|degrees?|radians?|celsius|centigrade|fahrenheit|acres?|hectares?|gallons?|quarts?|pints?|cups?"
    r"|(?:tea|table)spoons?|knots?|angstroms?|atmospheres?|revolutions?|dollars?|cents?|euros?|yen|yuan|rupees?|pesos?|pence"
    r"|penn(?:y|ies)|francs?|units?|points?|ways?|people|persons?|students?|child(?:ren)?|pieces?|items?|solutions?|outcomes?"
)
_SYMBOLS_OF_UNITS = (
    r"[\u00b5\u03bcunmcdhkMGTp]?(?:m|g|s|[lL]|N|J|W|V|A|Pa|Hz|K|mol|Wh|cal|eV|F|C|H|T|B|bar|ohm)|cd|Wb|in|ft|yd|mi|lbs?|oz|hrs?|h"
    r"|mins?|secs?|sec|d|yrs?|yr|mph|kph|kmph|rpm|bpm|gal|qt|pt|ha|dB|rad|deg|t|USD|EUR|GBP|JPY|CNY|INR|AU|ly|sq|cc"
)
_FACTOR = (
    rf"(?:(?i:square|sq\.?|cubic|cu\.?)\s)?(?:(?i:(?:milli|micro|nano|pico|kilo|mega|giga|tera|centi|deci|hecto)?(?:{_PREFIXED_NAMES})"
    rf"|{_NAMES})|{_SYMBOLS_OF_UNITS})\.?(?:\s?(?i:squared|cubed)|[23\u00b2\u00b3]|{_POWER})?"
)
_UNIT = re.compile(rf"{_FACTOR}(?:(?:\s?(?:/|\*|-|\\cdot)\s?|\sper\s|\s){_FACTOR}){{0,3}}")
"""Units of measurement and of money, and what is often counted: a closed table. What stands behind a number and is not
in it may make another number of it (squared, factorial, hundredths, lakh, below zero), or deny it.
"""
_COUNTED = re.compile(r"(?i:how\s+many|number\s+of)\s+([A-Za-z-]+)(?:\s+([A-Za-z-]+))?")


def is_unit(words: str) -> bool:
    """Returns True if words, or symbols, are a unit by the closed table."""
    return _UNIT.fullmatch(" ".join(words.split())) is not None


def counted_in(question: str) -> frozenset[str]:
    """Returns the words behind `how many` and `number of` in a question, in lower case: they name what it counts."""
    return frozenset(word.lower() for found in _COUNTED.findall(question) for word in found if word)
