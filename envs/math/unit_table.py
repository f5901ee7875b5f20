"""Names and symbols of units, each with the one symbol by which units are compared: `meters` and `metres` are `m`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache

Powers = Mapping[str, int]
"""Powers of units by their symbols: `m/s^2` is m to the power of 1 and s of -2. A name of several units has the symbols of
all of them, with a bar between: `pound` is `lb|£`.
"""
_PREFIXES = {
    **{"milli": "m", "micro": "u", "nano": "n", "pico": "p", "centi": "c", "deci": "d", "hecto": "h", "kilo": "k"},
    **{"mega": "M", "giga": "G", "tera": "T"},
}
_PREFIXED = {
    **{"m": "meter metre", "g": "gram gramme", "s": "second", "L": "liter litre l", "N": "newton", "J": "joule"},
    **{"W": "watt", "V": "volt", "A": "ampere amp", "Pa": "pascal", "Hz": "hertz", "K": "kelvin", "mol": "mole"},
    **{"ohm": "", "B": "byte", "bit": "", "cal": "calorie", "eV": "electronvolt", "T": "tesla", "H": "henry henries"},
    **{"F": "farad", "C": "coulomb", "bar": ""},
}
"""Names of units that may have a prefix, by their symbols."""
UNIT = "unit|thing|m|cm|mm|km|in|ft|yd|mi"
"""Symbol of `units`, which may be any length or what is counted."""
MONEY_CODES = (
    "USD|EUR|GBP|JPY|CNY|INR|AED|ARS|AUD|BDT|BGN|BRL|CAD|CHF|CLP|COP|CZK|DKK|EGP|ETB|GHS|HKD|HUF|IDR|ILS|ISK|KES|KRW|KZT"
    "|LKR|MAD|MXN|MYR|NGN|NOK|NPR|NZD|PEN|PHP|PKR|PLN|QAR|RON|RSD|RUB|SAR|SEK|SGD|THB|TRY|TWD|TZS|UAH|UGX|UYU|VND|XAF|XOF"
    "|ZAR"
)
"""Codes of money of ISO 4217 in capitals, as a pattern: those that may stand for its sign, before a number or behind it."""
_OTHERS = {
    **dict.fromkeys(MONEY_CODES.split("|"), ""),
    **{"in": "inch inches", "ft": "foot feet", "yd": "yard", "mi": "mile", "lb": "lbs", "lb|£": "pound", "oz": "ounce"},
    **{"ton|t": "ton", "t": "tonne", "st": "stone", "min": "minute mins", "h": "hour hr hrs", "s": "sec secs"},
    **{"d": "day", "week": "wk wks", "month": "", "yr": "year yrs", "decade": "", "century": "centuries"},
    **{"acre": "", "ha": "hectare", "gal": "gallon", "qt": "quart", "pt": "pint", "cup": "", "teaspoon": ""},
    **{"tablespoon": "", "knot": "", "angstrom": "", "atmosphere": "atm", "rev": "revolution", "rad": "radian"},
    **{
        "°|°C|°F": "° degree deg",
        "°C": "celsius centigrade °c",
        "°F": "fahrenheit °f",
        "arcmin|ft": "'",
        "arcsec|in": "''",
    },
    **{
        "arcmin": "arcminute",
        "arcsec": "arcsecond",
        "%": "percent pct",
        "$": "dollar USD",
        "¢": "cent",
        "¢|p": "penny",
    },
    **{"p": "pence pennies", "€": "euro EUR", "£": "GBP", "¥": "yen yuan JPY CNY", "₹|PKR|NPR|LKR": "rupee"},
    **{
        "₹": "INR",
        "MXN|PHP|CLP|COP|ARS|UYU": "peso",
        "CHF|XAF|XOF": "franc",
        "₩": "KRW",
        "am": "",
        "pm": "",
        "cd": "",
        "Wb": "",
        "dB": "",
        "AU": "",
        "ly": "",
        UNIT: "unit",
    },
    **{"thing": "point way people person student child children piece item solution outcome"},
}
"""Names of units without prefixes, by their symbols. All words for what is often counted are one thing."""
_COMPOUND = {
    **{"mph": "mi/h", "kph": "km/h", "kmph": "km/h", "kmh": "km/h", "rpm": "rev/min", "bpm": "thing/min", "cc": "cm^3"},
    **{"Wh": "W h", "kWh": "kW h", "MWh": "MW h", "GWh": "GW h"},
}
"""Symbols that stand for several others."""
_AS_WELL = {"min": "min|arcmin", "s": "s|arcsec", "C": "C|°C", "F": "F|°F"}
"""Symbols that have a second meaning. Written alone they may be either."""
_WITHOUT_DENOMINATOR = frozenset("$¢€£¥₹₩") | {"thing", "p", "¢|p", "lb|£", "min", "h", "d"}
"""Symbols behind which `per hour` and the like may be left out."""
_DEGREES = r"\^\s?(?:\{\s?\\circ\s?\}|\\circ(?![A-Za-z]))"
_SAME: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"\\text\{([^{}]*)\}"), lambda found: f" {found[1].strip()}"),
    (re.compile(_DEGREES), " ° "),
    (re.compile(r"\^\s?\{\s?\\prime\s?\\prime\s?\}"), "''"),
    (re.compile(r"\^\s?(?:\\prime(?![A-Za-z])|\{\s?\\prime\s?\})"), "'"),
    (
        re.compile(r"(?i:(?:°|\bdeg(?:rees?|\.)?)\s{0,9}(?:(c)|(f))(?:elsius|entigrade|ahrenheit)?(?![A-Za-z]))"),
        r" °\1\2 ",
    ),
    (re.compile(r"(?i)\bper\s?cent\b|\\?%"), " % "),
    (re.compile(r"(?i)\b([ap])(?:\.\s?)?m\b\.?"), lambda found: f" {found[1].lower()}m "),
    (re.compile(r"(?:\bUS\s?)?\\?\$"), " $ "),
    (re.compile(r"\\(?:cdot|times)(?![A-Za-z])|\*|(?<=[A-Za-z])-(?=[A-Za-z])"), " "),
    (re.compile(r"(?<![A-Za-z])([kcm]?m)([sh])(?=\s?\^\s?\{?\s?-)"), r"\1 \2"),
    (re.compile(r"(?<=[A-Za-z\d])\s?/\s?\(([^()/]*)\)\s*\Z"), r"/\1"),
    (re.compile("\u00b2"), "^2"),
    (re.compile("\u00b3"), "^3"),
    (re.compile("[\u00b5\u03bc]"), "u"),
]
"""Spellings in LaTeX and words, and the ones that are read."""
_TOKEN = re.compile(r"\s*(?:(/)|([A-Za-z]+\.?|°[CcFf]|[°%$¢€£¥₹₩]|''?|\")(?:\^?(?:\{\s?(-?\d)\s?\}|(-?\d)))?)\s*")
_LIFTS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
_PLURAL = re.compile(r"(?<=[a-z]{3})s$")


def powers_of(unit: str) -> Powers | None:
    """Returns the powers of a unit, of which all behind the first slash or `per` divide; None if a word or symbol in it
    is no unit of the closed table.
    """
    powers: Counter[str] = Counter()
    sign, lift, is_open, last = 1, 1, True, ""
    for word, power in _tokens(unit):
        lifted = _LIFTS.get(word.lower().rstrip("."), 1)
        known = _known(word.rstrip("."))
        if word in {"/", "per"} and not is_open:
            sign, is_open, last = -1, True, ""
        elif lifted > 1 and (last if word.endswith("d") else lift == 1):
            if word.endswith("d"):
                powers[last], last = powers[last] * lifted, ""
            else:
                lift, is_open, last = lifted, True, ""
        elif known is not None:
            for symbol, one in known.items():
                powers[symbol] += sign * one * power * lift
            lift, is_open, last = 1, False, next(iter(known))
        else:
            return None
    return None if is_open else powers


def are_same_units(here: Powers, there: Powers) -> bool:
    """Says whether two units are the same. `per hour` may be left out behind money and what is counted."""
    one, other = _as_meant(here, there), _as_meant(there, here)
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return set(short) <= _WITHOUT_DENOMINATOR and short == {
        symbol: power for symbol, power in long.items() if power > 0
    }


def _as_meant(here: Powers, there: Powers) -> dict[str, int]:
    """Returns a unit with one symbol for a name of several units: one that the other unit has too, if there is one."""
    others = {symbol for name in there for symbol in _AS_WELL.get(name, name).split("|")}
    meant: Counter[str] = Counter()
    for name, power in here.items():
        symbols = _AS_WELL.get(name, name).split("|")
        meant[next((symbol for symbol in symbols if symbol in others), symbols[0])] += power
    return {symbol: power for symbol, power in meant.items() if power}


def _tokens(unit: str) -> Iterator[tuple[str, int]]:
    """Yields the words, symbols and slashes of a unit, each with its power; an empty word for anything else."""
    for spelling, same in _SAME:
        unit = spelling.sub(same, unit)
    place = 0
    while place < len(unit):
        found = _TOKEN.match(unit, place)
        if found is None:
            if unit[place:].strip():
                yield "", 1
            return
        slash, word, braced, plain = found.groups()
        yield slash or ("''" if word == '"' else word), int(braced or plain or 1)
        place = found.end()


def _known(word: str) -> Powers | None:
    """Returns the powers of one name or symbol; None if it is not in the table."""
    table = _table()
    if word in table:
        return table[word]
    small = word.lower()
    return table.get(small, table.get(_PLURAL.sub("", small))) if len(word) > 2 or small == "l" else None


@cache
def _table() -> Mapping[str, Powers]:
    """Returns the powers of all symbols, which are as they are written, and of names in lower case and singular."""
    table: dict[str, Powers] = {}
    for symbol, names in _PREFIXED.items():
        for name in [symbol, *names.split()]:
            for word, sign in _PREFIXES.items():
                if name == symbol or len(name) < 3:
                    table[f"{sign}{name}"] = {f"{sign}{symbol}": 1}
                if len(name) >= 3:
                    table[f"{word}{name}"] = {f"{sign}{symbol}": 1}
            table[name] = {symbol: 1}
    for symbol, names in _OTHERS.items():
        table |= {name: {symbol: 1} for name in [symbol, *names.split()]}
    return table | {name: read for name, unit in _COMPOUND.items() if (read := _compound(table, unit))}


def _compound(table: Mapping[str, Powers], unit: str) -> Powers:
    powers: Counter[str] = Counter()
    for place, side in enumerate(unit.split("/")):
        for factor in side.split():
            symbol, _, power = factor.partition("^")
            powers[next(iter(table[symbol]))] += int(power or 1) * (-1 if place else 1)
    return powers
