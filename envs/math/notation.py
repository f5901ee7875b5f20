r"""Brings an answer's notation to the one that math-verify reads: its spaces, fonts, units and signs."""

from __future__ import annotations

import re

from ray_gym.envs.math.arguments import with_braces
from ray_gym.envs.math.both_signs import with_both_signs
from ray_gym.envs.math.dress import in_usual_signs, value_of, without_dress
from ray_gym.envs.math.mixed import without_mixed_numbers
from ray_gym.envs.math.number_words import cardinal
from ray_gym.envs.math.rows import as_list, with_plain_breaks
from ray_gym.envs.math.scripts import with_latin_units
from ray_gym.envs.math.unit_table import MONEY_CODES, powers_of
from ray_gym.envs.math.units import with_slashes
from ray_gym.envs.math.whole import with_plain_letters

_GAP = (
    r"\\[,!;: ]|\\(?:thin|med|thick)space(?![A-Za-z])\s*|(?:\\(?:math\w+|text))?\{(?:,|~| |\\[,!;: ])\}|~"
    r"|[\u00a0\u2007-\u200a\u202f\u2019]"
)
_GROUPED = re.compile(rf"(?<=\d)(?:{_GAP}){{1,3}}(?=\d{{3}}(?!\d))")
"""Space, a comma in braces or an apostrophe between groups of three digits."""
_THIN = r"(?:\\,|\\thinspace(?![A-Za-z])\s?|[\u2009\u202f])"
_DECIMALS = re.compile(rf"(?<=\d\.)(\d{{3}}(?:{_THIN}\d{{3}}){{0,20}}){_THIN}(\d{{1,3}})(?!\d)")
"""Decimals in groups of three digits, of which the last may be shorter."""
_TH = r"\\(?:text\w*|mathrm|mbox)\s?\{\s?(?:st|[nr]d|th)\s?\}"
_ORDINAL = re.compile(rf"(?<=\d)\s?(?:\^\s?(?:\{{\s?(?:{_TH}|st|[nr]d|th)\s?\}}|{_TH})|{_TH})")
"""Ending of an ordinal number, raised or in text: the 12th is 12."""
_FUNCTIONS = r"(?:arc(?:sin|cos|tan)|(?:sin|cos|tan)h?|cot|ln|log|exp)"
_FUNCTION = re.compile(rf"\\(?:mathrm|mathop|text\w*|operatorname)\s?\{{\s?({_FUNCTIONS})\s?\}}")
_PLAIN_FUNCTION = re.compile(rf"(?<![A-Za-z\\{{])({_FUNCTIONS})(?=\(|\\left|_(?:\d|\{{\d))")
"""These two are names of functions that are not LaTeX's commands: sin(x)."""
_GROUPS = re.compile(r"(?<![\d.,])(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d\d){1,9},\d{3})(?!,?\d)")
"""Number in groups of three digits, or in India's."""
_TIGHT_COMMA = re.compile(r"(?<=\d),(?=-?[\d\\])")
_BRACKET = re.compile(r"[(\[]|\\\{")
_GROUPED_PLAINLY = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")
_SPACE = re.compile(
    r"~|(?<!\\)\\[,;: ]|\\(?:(?:thin|med|thick)space|enspace|enskip)(?![A-Za-z])|\\[hm]space\*?\s*\{[^{}]*\}"
    r"|[\u00a0\u2007-\u200a\u202f]"
)
_UNSEEN = re.compile(r"[\u200b-\u200d\u2060\ufeff]")
_WIDE = "＋－＝（）［］：％．／＜＞｜＊＾"  # noqa: RUF001
_PLAIN = {
    **{wide: chr(wide - 0xFEE0) for wide in [*range(0xFF10, 0xFF1A), *map(ord, _WIDE)]},
    **{0xFF0C: ", ", 0x2044: "/", 0xFFE5: "¥", 0x3A9: "\\Omega ", 0x2126: "\\Omega "},
    **dict.fromkeys((0x1D6D1, 0x1D70B, 0x1D745, 0x1D77F, 0x1D7B9), "\\pi "),
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2212), "-"),
    **{
        ord(sign): f"\\frac{{{over}}}{{{under}}}"
        for sign, over, under in ("½12", "⅓13", "⅔23", "¼14", "¾34", "⅕15", "⅛18")
    },
    **{
        ord("∞"): "\\infty ",
        ord("∅"): "\\emptyset ",
        ord("→"): "\\to ",
        0x2236: ":",
        ord("º"): "°",
        ord("℃"): "°C",
        ord("℉"): "°F",
    },
}
"""Plain text of digits and signs in full width, of ohms, of dashes that stand for a minus, and of signs for fractions, infinity, the empty
set, temperatures and an arrow, by their codes.
"""
_RELATIONS = str.maketrans(
    {"≤": "\\le ", "≥": "\\ge ", "≠": "\\neq ", "∈": "\\in "}
    | {
        "\u211d": "\\mathbb{R}",
        "\u2124": "\\mathbb{Z}",
        "\u211a": "\\mathbb{Q}",
        "\u2115": "\\mathbb{N}",
        "\u2102": "\\mathbb{C}",
    }
)
"""Commands for signs of relations and of sets of numbers. In prose, math-verify would read only what is behind one."""
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_POWER = re.compile(rf"(?<=[\w)}}\]])[{_RAISED}]+")
_LOWERED = str.maketrans(_RAISED, "0123456789-")
_NICE_FRACTION = re.compile(r"\\(?:nicefrac|[sx]frac|flatfrac)(?![A-Za-z])")
_SMALL_DIGITS = re.compile(
    r"(?<![\w)}\]])(?:\{\})?\^(?:\{\s?(\d{1,30})\s?\}|(\d))\s?(?:\\!)?/(?:\\!)?\s?_(?:\{\s?(\d{1,30})\s?\}|(\d))"
)
"""Fraction of raised and lowered digits with a slash between them."""
_ROOT = re.compile(r"(?:√|\\surd(?![A-Za-z]))\s{0,9}(?:\{([^{}]*)\}|\(([^()]*)\)|(\d+(?:\.\d+)?|[A-Za-z]))")
_TIMES = re.compile(r"(?<=[\w)}])\s{0,9}[×·⋅]\s{0,9}(?=[\w(\\√])")  # noqa: RUF001
_TIMES_TEN = re.compile(r"(?<=\d)\s{0,9}(?:[xX]|\\text\s?\{\s?[xX]\s?\})\s{0,9}(?=10\s{0,9}(?:\^|\*\*))")
"""Letter x for a sign of multiplication: 3.2 x 10^5."""
_STAR = re.compile(r"\\ast(?![A-Za-z])")
_SLASH = re.compile(r"\\slash(?![A-Za-z])\s?")
_RAISED_BY_STARS = re.compile(r"(?<=[\w)}\]])\s?\*\*\s?(?:(-?\d{1,9}(?![\w.*])|[a-z](?![\w*]))|\(([^()]{1,60})\))")
"""Power as programs write it: x**2."""
_PI_IN_TEXT = re.compile(r"\\(?:text|mathrm)\s?\{\s?(?:\u03c0|\\?pi)\s?\}")
_LETTER = re.compile(r"\A([A-Z])\)\Z")
"""Letter of an option, with the bracket behind it."""
_TEN_TO = re.compile(r"(?<![\w.,])10\s?\*\*\s?(?=[-({\d])")
_MINUS_POWER = re.compile(
    r"\\text\{[^{}]*\}|(?<=[\w)}\]])\s?\^\s?(-(?:\d+(?:\.\d+)?(?![\d.,]|\s?[/^])|[a-z](?![\w^])))"
)
_IN_TEXT = re.compile(r"\\(?:text\w*|math(?:rm|sf|bf)|mbox)\s?\{[^{}]*[×·⋅][^{}]*\}")  # noqa: RUF001
_ONE = re.compile(r"(?<![\w.,^}])1(?=\s{0,9}(?:\\times|\\cdot|\*)\s{0,9}10\s{0,9}\^)")
"""Number before a power of ten, which math-verify would lose: without it, `10^5` is left to compute."""
_PI = re.compile(r"(?<![A-Za-z\\{])pi(?![A-Za-z}])")
_BASE = re.compile(
    r"\(([\dA-Fa-f]{1,40})\)\s?_\s?(?:(\d)|\{\s?(\d{1,2})\s?\})"
    r"|(?<=[\dA-F])\s?_\s?\{\s?(?:\(\s?(\d{1,2})\s?\)|(?:\\text\s?\{\s?)?([a-z]{3,8})\s?\}?)\s?\}"
)
"""Number in brackets with its base behind it, or a base in words or brackets."""
_NO_BRACKETS = re.compile(r"\\left\s?\.((?:(?!\\(?:left|right|middle)).)*)\\right\s?\.", re.DOTALL)
"""Brackets that are not drawn, around an expression."""
_ONLY_TEXT = re.compile(
    r"\A\\(?:text|mathrm|textbf|mbox)\s?\{(?=[^{}]*[\d\u221e])(?:\s?[Tt]he (?:final )?answer is:?\s)?((?:(?![A-Za-z]{2})[^{}\\])*)\}\.?\Z"
)
"""Answer without words, but for `the answer is`, that is all in LaTeX's text."""
_SWITCH = re.compile(r"\A\s*\\(?:bf|sf|it|tt)(?![A-Za-z])\s*(?=\S)")
"""Switch to another font before the whole answer."""
_COMMON_LOGARITHM = re.compile(r"\\lg(?![A-Za-z])")
_PROBABILITY = re.compile(r"\\Pr(?=\s*[=(])")
_MARKDOWN = re.compile(r"(\*{1,2}|`)([^*`]+)\1\.?")
_SI = re.compile(r"\\num\s*\{([^{}]*)\}|\\(?:SI|qty)\s*\{([^{}]*)\}\s*\{([^{}]*)\}|\\(?:si|unit)\s*\{([^{}]*)\}")
"""Numbers and units in the commands of LaTeX's siunitx."""
_BOLD = re.compile(r"(?<![\w)*])\*\*(?=[^\s*])([^*\n]{1,200})(?<=\S)\*\*(?![\w(*])")
_SMALL_GAP = r"(?:\s|~|\\[,;: ])?"
_MONEY = re.compile(
    rf"(?:\b(?:US|CA|AU|NZ|HK)\\?\$|\\\$|(?:\\text\{{\s?|\b)(?:{MONEY_CODES})\s?\}}?{_SMALL_GAP})(?=\.?\d)"
    rf"|(?<=\d){_SMALL_GAP}(?:{MONEY_CODES})(?![A-Za-z])"
)
"""Money before a number, or its code behind one."""
_UNDERSCORED = re.compile(r"(?<=\d)_(?=\d{3}(?!\d))")
_BRACED = r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}"
_BEGINS_AS_A_VALUE = r"(?=\{\s*(?:[A-Za-z]\s*=\s*)?[-+(]?\s*(?:\.?\d|\\(?:[dtc]?frac|sqrt|pi)))"
_DRESS = re.compile(
    rf"(?<![\^_}}A-Za-z])(?:\\(?:boldsymbol|bm|pmb|underline|textcolor\s*\{{[^{{}}]*\}}"
    rf"|(?:math(?:bf|rm|it|sf|tt|normal)|text(?:bf|it|rm)|bf|it|sf|tt|symbf|emph)\s*{_BEGINS_AS_A_VALUE})\s*{_BRACED}"
    rf"|\{{\s*\\color\s*\{{[^{{}}]*\}}([^{{}}]*)\}})"
)
"""Bold and other fonts of values, a line below and colour, which make no other value."""
_UNIT_IN_BRACES = re.compile(r"(?<=[\d\s])\{\s*(\\text\{[^{}]*\})\s*\}")
_MICRO = re.compile(r"(?<=\d)(\s*)\\mu\s*\\text\{\s*(\w+)\s*\}")
_PRICE = re.compile(r"\$(?=[\d.])[^$]*")
_DOLLARS = re.compile(r"^\$+|(?<!\\)\$+$")
_FONT = re.compile(
    r"\\(?:mathrm|mathit|mathsf|mathtt|[mh]box|text\w*|rm|operatorname(?=\{\w+\}\W*$))\s*"
    r"\{((?:[\w ./]|\^(?:\{\s?-?\d\s?\}|-)?)+)\}"
    r"|\{\s*\\rm\s([\w ./^]+)\}"
)
_FONT_OF_PRODUCT = re.compile(
    r"(?<=[\d)}])(?P<space>\s{0,3})\\(?:mathrm|mathsf|text(?:rm)?|mbox)\s?"
    r"\{(?P<unit>(?=[^{}]*\\(?:cdot|mu))(?:[A-Za-z0-9 /*()-]|\$?\\(?:cdot|mu)(?![A-Za-z])\$?|\^(?:\{\s?-?\d\s?\}|-?\d))+)\}"
)
"""Unit behind a number in one font, with dots between its factors or mu for micro."""
_BRACED_POWER = re.compile(r"\^\{\s?(-?\d)\s?\}")
_DEEPEST = 3
"""Largest number of commands of dress within one another that are read."""
_CONSTANTS = frozenset("eij")
"""Letters that stand for numbers, also in an upright font."""
_OHM = re.compile(
    r"(?<=\d)(\s*)(?:(?:([kMGm]|\\mu)|\\text\{\s?([kMGm])\s?\})?\s*\\Omega(?![A-Za-z])"
    r"|\\(?:text|math(?:rm|sf|bf))\s?\{\s?([kMGm]|\\mu)?\s?\$?\\Omega\$?\s?\})"
)
_ANGSTROM = re.compile(
    r"(?<=\d)(\s{0,9})(?:(?:\\(?:text|mathrm)\s?(\{\s?))?(?:\\(?:AA|angstrom)(?![A-Za-z])|[Å\u212b]|\\mathring\s*(?:\{A\}|A))(?(2)\s?\}))"
)
_DEGREE = re.compile(
    r"°|(?<=\d)\s?\^\s?(?:o(?![A-Za-z])|\{\s?o\s?\}|\\text\{\s?o\s?\})|\\(?:text)?degrees?(?![A-Za-z])"
)
_EQUALS = re.compile(
    r"^(?:\s*(?::?=|[≈≃≅]|\\(?:approx(?:eq)?|thickapprox|simeq|sim|cong|doteq|therefore|implies|(?:Long)?[rR]ightarrow)(?![A-Za-z])"
    r"|(?:\\text\{\s*)?(?:approximately|approx\.?|about|roughly|exactly|precisely)\s*\}?(?=[\s\d\\$])))+\s*",
    re.IGNORECASE,
)
"""Signs and words before a value that say that something equals it, or nearly does."""
_ROUGHLY = r"\(?(?:approximately|approx\.?|exact(?:ly)?|rounded)\)?"
_ROUGHLY_BEHIND = re.compile(rf"(?<=[\d}})%])\s{{0,5}}(?:\\text\s?\{{\s{{0,5}}{_ROUGHLY}\s{{0,5}}\}}|\s{_ROUGHLY})$")
_SIGN_IN_TEXT = re.compile(r"(?:\\(?:text|mathrm)\s?|(?<![\w\\}^]))\{\s?([-+])\s?\}\s?(?=[\d.\\])")
_RATIO = re.compile(r"\\colon(?![A-Za-z])|(?<=\d)\s?(?:\\text\{\s?to\s?\}|\sto\s)\s?(?=\d)")
_IS_RATIO = re.compile(r"\d+\s?:\s?\d+(?:\s?:\s?\d+)*")
_FULL_STOP = re.compile(r"(?<=[\w})\]$%])\s*(?:\\?[.。]|[;,]|\\\\)(?:\\!){0,3}$")
"""Full stop at the end, or another mark that says nothing there."""
_TICKS = r"(?:[✓✔✅☑∎]\ufe0f?|\\(?:checkmark|blacksquare|qed)(?![A-Za-z]))"
_TICK = re.compile(
    r"(?<=[\w})\]$.])(?:\s|\\[,;:! ]|\\q?quad(?![A-Za-z])|~){0,9}"
    rf"(?:(?:\\text\{{\s?{_TICKS}\s?\}}|{_TICKS})\s?)+\.?$"
)
"""Tick at the end, or a sign that ends a proof."""


def bare_expression(text: str) -> str:
    """Returns an expression that is tidy (`tidy`), without dollar signs or Markdown around it, a full stop at its end,
    plain spaces that group its digits, and signs of equality before it; with a sign for the word pi, and as a list or a set if
    it is a system of equations or has two signs.
    """
    text = _BASE.sub(_in_base, _ONLY_TEXT.sub(r"\1", _LETTER.sub(r"\1", _SWITCH.sub("", text.strip()))))
    marked = _MARKDOWN.fullmatch(text.strip())
    bare = _without_end(_NO_BRACKETS.sub(r"\1", text.strip() if marked is None else marked[2]))
    bare = _with_usual_operators(f"\\{bare}" if _PRICE.fullmatch(bare) else bare)
    plain = _MINUS_POWER.sub(
        _in_braces, _GROUPED_PLAINLY.sub("", tidy(_DOLLARS.sub("", bare).strip().translate(_RELATIONS)))
    )
    exact = _ROUGHLY_BEHIND.sub("", _without_end(_PLAIN_FUNCTION.sub(r"\\\1", plain).strip()))
    value = value_of(as_list(_EQUALS.sub("", exact)))
    return with_both_signs(without_mixed_numbers(_PI.sub(r"\\pi ", in_usual_signs(value)).strip()))


def _with_usual_operators(text: str) -> str:
    r"""Returns a text with `^` for two stars, a star for `\ast`, a slash for `\slash`, a sign for pi in text, `\log_{10}` for
    `\lg`, and `P` for `\Pr`.
    """
    named = _COMMON_LOGARITHM.sub(r"\\log_{10}", _PROBABILITY.sub("P", text))
    plain = _SLASH.sub("/", _STAR.sub("*", _PI_IN_TEXT.sub(r"\\pi ", named)))
    return _RAISED_BY_STARS.sub(lambda found: f"^{{{found[1] or found[2]}}}", plain)


def _in_base(found: re.Match[str]) -> str:
    """Returns a number with its base in digits; what is no base as it is."""
    base = found[2] or found[3] or found[4] or cardinal(found[5])
    return found[0] if base is None else f"{found[1] or ''}_{{{base}}}"


def _in_braces(found: re.Match[str]) -> str:
    return f"^{{{found[1]}}}" if found[1] else found[0]


def without_marks(text: str) -> str:
    """Returns a text without Markdown's marks of code and bold text, without escaped signs of dollars before numbers and
    codes of money beside them, and without signs that end a proof. Stars between numbers are powers, and stay.
    """
    return _MONEY.sub("", _BOLD.sub(r"\1", with_latin_units(text))).replace("`", " ").replace("\\blacksquare", " ")


def _without_end(text: str) -> str:
    return _FULL_STOP.sub("", _TICK.sub("", text))


def tidy(text: str) -> str:
    """Returns a text without spaces of LaTeX that group digits; other such spaces become plain ones. Units in another
    font become text; numbers and constants in another font lose it.
    """
    undressed = without_dress(with_plain_breaks(_SIGN_IN_TEXT.sub(r"\1", _UNSEEN.sub("", text).translate(_PLAIN))))
    plain = _SI.sub(_without_si, _UNDERSCORED.sub("", with_plain_letters(with_braces(_with_commands(undressed)))))
    for _ in range(_DEEPEST):
        plain = _DRESS.sub(lambda found: found[1] or found[2] or "", plain)
    plain = _FUNCTION.sub(r"\\\1 ", _ORDINAL.sub("", plain))
    spaced = _SPACE.sub(" ", _GROUPED.sub("", _DECIMALS.sub(_without_gaps, plain)))
    spaced = _ANGSTROM.sub(r"\1\\text{angstrom}", _DEGREE.sub(r"^{\\circ}", spaced))
    fonted = _UNIT_IN_BRACES.sub(r"\1", _FONT.sub(_unfonted, _FONT_OF_PRODUCT.sub(_unit_in_text, spaced)))
    in_text = _OHM.sub(_in_ohms, _MICRO.sub(r"\1\\text{u\2}", with_latin_units(fonted)))
    return with_slashes(in_text)


def _without_gaps(found: re.Match[str]) -> str:
    return re.sub(_THIN, "", found[0])


def _in_ohms(found: re.Match[str]) -> str:
    prefix = (found[2] or found[3] or found[4] or "").replace("\\mu", "u")
    return f"{found[1]}\\text{{{prefix}ohm}}"


def _without_si(found: re.Match[str]) -> str:
    """Returns a number and unit of siunitx as LaTeX's text; without a unit that is made of commands."""
    number, unit = found[1] or found[2] or "", found[3] or found[4] or ""
    return number if not unit or "\\" in unit else f"{number}\\text{{ {unit}}}"


def _with_commands(text: str) -> str:
    """Returns a text with LaTeX's commands for fractions, raised digits, roots and signs of multiplication (x², √2, 3×10⁵)."""  # noqa: RUF002
    fractions = _SMALL_DIGITS.sub(
        lambda found: f"\\frac{{{found[1] or found[2]}}}{{{found[3] or found[4]}}}", _NICE_FRACTION.sub(r"\\frac", text)
    )
    raised = _POWER.sub(lambda found: f"^{{{found[0].translate(_LOWERED)}}}", fractions)
    rooted = _ROOT.sub(lambda found: f"\\sqrt{{{found[1] or found[2] or found[3] or ''}}}", raised)
    tens = _TEN_TO.sub("10^", _TIMES_TEN.sub(r" \\times ", _IN_TEXT.sub(_with_stars, rooted)))
    return _ONE.sub("1.0", _TIMES.sub(r" \\times ", tens))


def _with_stars(found: re.Match[str]) -> str:
    return re.sub("[×·⋅]", "*", found[0])  # noqa: RUF001


def _unfonted(found: re.Match[str]) -> str:
    inside = (found[1] or found[2]).strip()
    is_number = inside in _CONSTANTS or inside[:1].isdigit()
    unit = _BRACED_POWER.sub(r"^\1", found[1] or found[2])
    return inside if is_number else f"\\text{{{unit}}}"


def _unit_in_text(found: re.Match[str]) -> str:
    """Returns a product of units as LaTeX's text, with stars for its dots; others as they are."""
    plain = re.sub(r"\\mu\s?", "u", re.sub(r"\s?\\cdot\s?", "*", found["unit"].replace("$", "")))
    unit = _BRACED_POWER.sub(r"^\1", plain)
    return found[0] if powers_of(unit) is None else f"{found['space']}\\text{{{unit}}}"


def with_commas_alike(expected: str, box: str) -> tuple[str, str]:
    """Returns an expected answer and a box in which commas say the same. Where one has none, those of the other that
    group digits go (`1,000`); where all of the expected answer separate (`100, 200`), so do all of the box.
    """
    if "," not in expected:
        return expected, _without_groups(box)
    if "," not in box:
        return expected if _BRACKET.search(expected) else _without_groups(expected), box
    if _TIGHT_COMMA.search(expected):
        return expected, box
    return expected, _without_groups(box) if ", " in box else _TIGHT_COMMA.sub(", ", box)


def with_ratios_alike(expected: str, box: str) -> tuple[str, str]:
    """Returns an expected answer and a box, both with colons if one is a ratio with colons: `3 to 4` is `3:4`."""
    one, other = (_RATIO.sub(":", text) for text in (expected, box))
    has_colons = _IS_RATIO.fullmatch(expected) or _IS_RATIO.fullmatch(box)
    return (one, other) if has_colons and _IS_RATIO.fullmatch(one) and _IS_RATIO.fullmatch(other) else (expected, box)


def _without_groups(text: str) -> str:
    return _GROUPS.sub(lambda found: found[0].replace(",", ""), text)
