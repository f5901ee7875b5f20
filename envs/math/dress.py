r"""Takes off what only dresses a mathematical answer, and writes it anew where math-verify reads another value.

Sizes of brackets, colours and empty space go; a repeating decimal becomes its fraction, `x < 3 \lor x > 5` a union of
intervals, `7 = x` an equation for x; and a name before a value (`\text{Area} =`) is left out.
"""

from __future__ import annotations

import re
from fractions import Fraction

from ray_gym.envs.math.latex import number

_SIZES = re.compile(
    r"\\(?:[bB]igg?[lrm]?|tiny|scriptsize|footnotesize|small|normalsize|large|Large|LARGE|[hH]uge|(?:display|text)style)"
    r"(?![A-Za-z])\s*"
)
"""Sizes of brackets and of letters."""
_UNSEEN = re.compile(r"\\[hv]?phantom\s*\{[^{}]*\}|\\(?:math)?strut(?![A-Za-z])|(?<!\{)\\color\s*\{[^{}]*\}")
_UNION = re.compile(r"\\big(cup|cap)(?![A-Za-z])")
_NOTHING = re.compile(r"(?<=[\d\w)}])\{\}(?=\s?\^)")
_POINT = re.compile(r"(?<=\d)(?:\\math\w+\s*)?\{([.:])\}(?=\d)")
_UPRIGHT = re.compile(r"(?<=[\d\s,;~])\\rm(?![A-Za-z{])(?:\s|\\[ ,;:]|~){0,5}([A-Za-z][\w/^ ]*)\Z")
_REPEATING = re.compile(
    r"(?<![\d.,])(\d{0,30})\.(\d{0,30})"
    r"(?:\\(?:overline|bar|widebar|dot)\s?(?:\{(\d{1,30})\}|(\d))(?!\d*\\dot)"
    r"|\\dot\s?\{?(\d)\}?(\d{0,30})\\dot\s?\{?(\d)\}?)"
)
"""Decimal whose last digits repeat, below a line or between two dots."""
_NAME = re.compile(
    r"\\(?:text\w*|math(?:rm|bf))\{([A-Za-z ]{0,60}?)\s?(:|\b(?:is|are|equals)(?:\s?:)?)?\s{0,3}\}\s*([:=])?\s*"
)
_SENTENCE = re.compile(r"((?:[A-Za-z]{1,20} ){1,9})(?:is|are|equals):?\s+(?=[-+$\\(.\d])")
"""Beginning of a sentence before a value, whose words are no product of letters."""
_NO_NAME = re.compile(
    r"(?i:\b(?:not|no|never|incorrect|less|more|than|least|most|half|twice|double|wrong|under|over|below|above)\b)"
)
"""Words by which something before a value is no name of it."""
_REVERSED = re.compile(r"([^=<>]{1,200}?)\s*=\s*([A-Za-z])")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_OR = re.compile(r"\\text\{\s*or\s*\}|\\(?:lor|vee)(?![A-Za-z])|(?<![A-Za-z\\])or(?![A-Za-z])|\u2228")
_LESS, _MORE = (
    r"(?:<=?|\\l(?:eq?|t)(?![A-Za-z])|\\leqslant|\u2264)",
    r"(?:>=?|\\g(?:eq?|t)(?![A-Za-z])|\\geqslant|\u2265)",
)
_BOUND = r"\s*((?:[^<>=\\]|\\(?!l|g)[A-Za-z]*){1,80}?)\s*"
_RELATION = re.compile(
    rf"(?:{_BOUND}({_LESS})\s*([A-Za-z])\s*({_LESS}){_BOUND}|\s*([A-Za-z])\s*({_LESS}|{_MORE}){_BOUND}"
    rf"|{_BOUND}({_LESS}|{_MORE})\s*([A-Za-z])\s*)"
)
_MINUS = re.compile(r"^(?:\\text\{\s*(?:negative|minus)\s*\}|(?:negative|minus)\s)\s*(?=[\d.]|\\[dtc]?frac)")
_E_NOTATION = re.compile(r"([-+]?\d{1,30}(?:\.\d{1,30})?)[eE]([-+]?\d{1,3})")
_PARTED = re.compile(r"(?:\\\{|[\[(\]])[^,]*;[^,]*(?:\\\}|[\])\[])")
_TURNED = re.compile(r"([\[\]])([^\[\];]*,[^\[\],;]*)([\[\]])")
_NO_SET = re.compile(r"\\varnothing(?![A-Za-z])")
_ALL_NUMBERS = re.compile(
    r"(?:[A-Za-z]\s?\\in\s?)?(?:\\text\s?\{\s?)?all\s(?:the\s)?reals?(?:\s(?:numbers?|values?))?\s?\}?", re.IGNORECASE
)
_NO_SOLUTION = re.compile(
    r"(?:\\text\s?\{\s?)?(?:there (?:is|are) )?no (real )?(?:solutions?|roots?)\s?\}?", re.IGNORECASE
)
NO_REAL = "\\text{no real solution}"
"""Answer that there is no real solution, which says nothing of others."""
_INFINITY = re.compile(r"\\(?:text|mathrm)\s?\{\s?infinity\s?\}|(?<![A-Za-z\\])infinity(?![A-Za-z])", re.IGNORECASE)
_NATURAL = re.compile(r"\\log\s?_\s?(?:\{\s?e\s?\}|e(?![A-Za-z]))")
_ANGLED = re.compile(r"\A\\langle(?![A-Za-z])((?:(?!\\[lr]angle).)*)\\rangle\Z")
_AND = re.compile(r"\\text\{\s*and\s*\}|\\(?:land|wedge)(?![A-Za-z])|(?<![A-Za-z\\])and(?![A-Za-z])|\u2227|,")
_SET_BUILDER = re.compile(
    r"(?:\\left\s*)?\\\{\s*([A-Za-z])\s*(?:\\in\s*\\(?:mathbb\s*\{?R\}?|R)\s*)?(?:\\mid|\\middle\s*\||\\vert|:|\|)(?![A-Za-z])(.*?)(?:\\right\s*)?\\\}"
)
_NAMED = re.compile(r"\s*([a-z])\s*=\s*([^=<>,()\[\]]{1,60}?)\s*")
_MOST_PARTS = 20


def without_dress(text: str) -> str:
    """Returns a text without sizes of brackets, colours and empty space, and with its repeating decimals as fractions."""
    plain = _POINT.sub(r"\1", _UNSEEN.sub("", _UNION.sub(r"\\\1", _SIZES.sub("", _NOTHING.sub("", text)))))
    return _REPEATING.sub(_as_fraction, _UPRIGHT.sub(r"\\text{ \1}", plain))


def value_of(expression: str) -> str:
    """Returns an expression without a name before its value, with an equation's variable first, without the plus of a
    number, with inequalities that are joined by `or` or `and`, or stand in a set, as intervals, and with values of several
    variables in the order of their names.
    """
    name = _NAME.match(expression) or _SENTENCE.match(expression)
    if name and (name.re is _SENTENCE or name[2] or name[3]) and not _NO_NAME.search(name[1]):
        expression = expression[name.end() :]
    turned = _REVERSED.fullmatch(expression)
    if turned and not re.search("[A-Za-z]", _COMMAND.sub("", turned[1])):
        return f"{turned[2]} = {turned[1]}"
    return _by_name(_as_union(re.sub(r"^\+\s*(?=[\d.\\])", "", expression)))


def without_names(text: str) -> str:
    r"""Returns a text without names before its values, as in `\text{The answer is }12`."""
    return _NAME.sub(lambda found: " " if found[2] and not _NO_NAME.search(found[1]) else found[0], text)


def in_usual_signs(expression: str) -> str:
    r"""Returns an expression with a minus for the word, the number 1500 for `1.5e3`, commas between the parts of `[3; 4]`,
    round brackets for those of `]3, 4[`, `\emptyset` for `\varnothing` and no solution, and `NO_REAL` for no real one.
    """
    if _ALL_NUMBERS.fullmatch(expression):
        return "\\mathbb{R}"
    if (none := _NO_SOLUTION.fullmatch(expression)) is not None:
        return NO_REAL if none[1] else "\\emptyset"
    plain = _NATURAL.sub(r"\\ln ", _INFINITY.sub(r"\\infty ", _ANGLED.sub(r"(\1)", expression)))
    signed = _NO_SET.sub(r"\\emptyset", _MINUS.sub("-", plain))
    power = _E_NOTATION.fullmatch(signed)
    if power is not None:
        return number(Fraction(power[1]) * Fraction(10) ** int(power[2]))
    parted = signed.replace(";", ",") if _PARTED.fullmatch(signed) else signed
    turned = _TURNED.fullmatch(parted)
    return f"{'[('[turned[1] == ']']}{turned[2]}{'])'[turned[3] == '[']}" if turned is not None else parted


def _as_fraction(found: re.Match[str]) -> str:
    whole, fixed = found[1], found[2]
    repeated = found[3] or found[4] or f"{found[5]}{found[6]}{found[7]}"
    over = int(f"0{whole}{fixed}{repeated}") - int(f"0{whole}{fixed}")
    value = Fraction(over, 10 ** len(fixed) * (10 ** len(repeated) - 1))
    return str(value) if value.denominator == 1 else f"\\frac{{{value.numerator}}}{{{value.denominator}}}"


def _as_union(expression: str) -> str:
    """Returns inequalities of one variable, joined by `or` or `and`, or in a set, as intervals; others as they are."""
    builder = _SET_BUILDER.fullmatch(expression)
    condition = expression if builder is None else builder[2]
    parts = _OR.split(condition)
    if len(parts) > _MOST_PARTS or (len(parts) == 1 and builder is None and not _AND.search(condition)):
        return expression
    read = [_as_interval(part) or _as_both(part) for part in parts]
    known = [one for one in read if one is not None]
    if len(known) < len(parts) or len({variable for variable, _ in known}) > 1:
        return expression
    return " \\cup ".join(interval for _, interval in known)


def _as_interval(part: str) -> tuple[str, str] | None:
    """Returns the variable of an inequality, and its interval; None for anything else."""
    found = _RELATION.fullmatch(part)
    if found is None:
        return None
    low, first, variable, second, high, left, relation, bound, far, turned, right = found.groups()
    if variable:
        return variable, f"{_open(first)}{low}, {high}{_close(second)}"
    if left:
        is_above, variable, end, sign = _is_more(relation), left, bound, relation
    else:
        is_above, variable, end, sign = not _is_more(turned), right, far, turned
    interval = f"{_open(sign)}{end}, \\infty)" if is_above else f"(-\\infty, {end}{_close(sign)}"
    return variable, interval


def _as_both(part: str) -> tuple[str, str] | None:
    """Returns the variable and the interval of two inequalities joined by `and`; None for anything else."""
    read = [one for one in map(_as_interval, _AND.split(part)) if one is not None]
    if len(read) != 2 or len(_AND.split(part)) != 2 or read[0][0] != read[1][0]:
        return None
    ends = sorted((one for _, one in read if "\\infty" in one), key=lambda one: one.startswith("(-\\infty"))
    if len(ends) != 2 or not ends[0].endswith(", \\infty)") or not ends[1].startswith("(-\\infty, "):
        return None
    low, high = ends[0].removesuffix(", \\infty)"), ends[1].removeprefix("(-\\infty, ")
    return read[0][0], f"{low}, {high}"


def _by_name(expression: str) -> str:
    """Returns values of several variables of one row (`y = 2, x = 1`) in the order of their names; other expressions as
    they are, since the order of other names is the question's.
    """
    named = [_NAMED.fullmatch(part) for part in _AND.split(expression)]
    values = {found[1]: found[2] for found in named if found is not None}
    if not 1 < len(values) == len(named) <= _MOST_PARTS or not any(set(values) <= set(row) for row in ("xyz", "abcd")):
        return expression
    return ", ".join(f"{name} = {values[name]}" for name in sorted(values))


def _is_more(sign: str) -> bool:
    return re.fullmatch(_MORE, sign) is not None


def _is_strict(sign: str) -> bool:
    return sign in ("<", ">", "\\lt", "\\gt")


def _open(sign: str) -> str:
    return "(" if _is_strict(sign) else "["


def _close(sign: str) -> str:
    return ")" if _is_strict(sign) else "]"
