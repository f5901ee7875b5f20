"""Compares two mathematical expressions by math-verify, in a process that may be killed at any time.

math-verify's own time limits are off: they use signals, can't end a computation in C, and give "different" in doubt.
"""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any

from math_verify import verify
from sympy import Eq, Expr, Float, Set, Tuple

from ray_gym.envs.math.announced import announced_value
from ray_gym.envs.math.applied import with_binomials, without_applied
from ray_gym.envs.math.bases import are_in_bases, without_asked_base
from ray_gym.envs.math.compound import Quantities, compound_of, last_quantities, quantities_of
from ray_gym.envs.math.displays import with_last_line
from ray_gym.envs.math.dress import NO_REAL, without_names
from ray_gym.envs.math.east_asian import is_changed, with_spaces
from ray_gym.envs.math.endings import asks_for_molarity, counted_in, is_ending, may_name, without_place
from ray_gym.envs.math.expected import LONGEST
from ray_gym.envs.math.hedged import alternatives, is_hedged, without_contrast
from ray_gym.envs.math.inexact import why_inexact
from ray_gym.envs.math.joined_boxes import joined_values, with_boxes_joined
from ray_gym.envs.math.last_expression import (
    is_left_open,
    last_expression,
    may_have_more,
    value_of,
    without_last_unit,
    without_name,
    without_unit_words,
)
from ray_gym.envs.math.last_letter import may_end_in_variable, with_unit_in_text
from ray_gym.envs.math.notation import bare_expression, tidy, with_commas_alike, with_ratios_alike
from ray_gym.envs.math.number_words import in_words, with_digits
from ray_gym.envs.math.options import choice_in, option_of, options_in, without_reason
from ray_gym.envs.math.ordered import with_order
from ray_gym.envs.math.parted import are_same_parts
from ray_gym.envs.math.percentages import asks_for_percent, percentage_in_words, percentage_of
from ray_gym.envs.math.powers import is_number_as_power
from ray_gym.envs.math.prose import without_quotes
from ray_gym.envs.math.reading import read_alone, read_within
from ray_gym.envs.math.reduction import is_false, is_left_to_compute, is_left_to_solve, to_exact
from ray_gym.envs.math.relations import EQUALS, first_relation
from ray_gym.envs.math.remainders import without_modulus
from ray_gym.envs.math.rounded import asks_to_round, exact_and_rounded, is_decimal, is_quick, is_rounding, without_text
from ray_gym.envs.math.scripts import LETTER, without_other_words
from ray_gym.envs.math.spelled_twice import two_spellings
from ray_gym.envs.math.statements import are_same_statements
from ray_gym.envs.math.unit_table import Powers, are_same_units
from ray_gym.envs.math.units import (
    CURRENCY,
    NUMBER_AND_UNIT,
    PLAIN_NUMBER,
    bare_quantity,
    has_other_symbols,
    have_same_units,
    split_quantity,
    with_micro_units,
    with_molar_units,
)
from ray_gym.envs.math.whole import have_like_names, with_letters_alike
from ray_gym.envs.math.words import announced_end, announced_words, are_same_words, asks_for_time
from ray_gym.graders import last_boxed
from ray_gym.graders.boxes import with_latex_boxes
from ray_gym.graders.denials import without_struck
from ray_gym.graders.replaced import is_denied_answer
from ray_gym.graders.withdrawn import answer_instead, standing_box

PLACES = 50
"""Decimal places to which values with roots or pi are compared."""
LAST = 150
"""Number of characters at the end of an answer in which several quantities are looked for."""
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
_EVALUATED = re.compile(r"\\(?:(?:[dt]?binom|d?choose|det)\b|begin\{[vV]matrix\})")
"""Commands that math-verify evaluates while it reads. Only the text shows that they were there."""
_GROUPED_WIDELY = re.compile(r"(?<=\d)(?:\\(?:q?quad|enspace|enskip)(?![A-Za-z])|,\\[,;: ])\s*(?=0\d\d(?!\d))")
"""Space that also stands between two numbers, before a group of digits that is no number of its own."""
_IN_SIGNS = frozenset({"%", "°|°C|°F"})
"""Units that math-verify reads, and that change a number."""
_IN_OTHER_UNITS = re.compile(r"\\(?:text|circ|%|[bp]?mod)|[°%]|mod")
"""Signs with which the numbers of an equation need not be the same."""
_OVER_REALS = re.compile(r"(?i:\breals?\b)|\\mathbb\s?\{?\s?R|\u211d")
_TEXT = re.compile(r"\\text\{([^{}]*)\}")
_NUMBER_AND_WORDS = re.compile(
    rf"({PLAIN_NUMBER.pattern})(?:\s+(?=[A-Za-z]{{3}})|\s*(?={LETTER})(?![A-Za-z]))((?:{LETTER}|[ ,./'\u2019-])+)"
)
_SECOND = re.compile(r"(?<=2)(?<!12)[n]d\Z")
"""Ending of a plain ordinal number of which math-verify makes letters."""
_JOINED = re.compile(r"\b(?:and|or)\b", re.IGNORECASE)
_FIRST_VALUE = re.compile(r"\d|\\(?:pi|infty)(?![A-Za-z])")
_LAST_VALUE = re.compile(
    r"(?s:.*(?:[:=]|\b(?:is|are|equals|costs|takes|lasts|weighs|about|approximately|roughly)\b))?\s*([^\s:=][^:=\n]{0,60})\Z"
)
"""End of an answer: all of it, or what stands behind a colon, an equals sign or such a word."""
_SEVERAL = re.compile(r"-?\d+(?:\.\d+)?(?:,\s*-?\d+(?:\.\d+)?)*,?\s+and\s+-?\d+(?:\.\d+)?")
"""Several numbers, of which the last stands behind `and`."""
_MARKDOWN = re.compile(
    r"^(?:-{3,}|={3,}|_{3,})\s*$|^(?:>\s)+|(?<=\n)-\s|(?:(?<=[A-Za-z]{2})|(?<=/[A-Za-z]))!(?=\s*\Z)", re.MULTILINE
)
"""Rule, mark of a quotation, or bullet; and an exclamation mark behind a unit."""
_MARKED = re.compile(r"(?:\$([^$]{1,60})\$|\\\(([^()]{1,60}?)\\\)|\*\*([^*]{1,60})\*\*)(?=\s?[A-Za-z])")
"""Value with marks of mathematics or Markdown around it, before a plain unit."""
_ONLY_IN_LATEX = re.compile(
    r"[-+]?\d*\.?\d+\s?(?:\\times|\\cdot|\*)\s?10\s?\^\s?(?:-?\d+|\{\s?-?\d+\s?\})|(?:[-+]?\d*\.?\d+\s?[-+]\s?)?[-+]?\d*\.?\d*i"
)
"""Numbers with a power of ten, and complex ones, of which math-verify reads a part only, unless dollar signs say that they
are LaTeX.
"""
_E_NOTATION = re.compile(r"[-+]?\d+(?:\.\d+)?[eE][-+]?\d+[.*`\s]*")
_BRACKET = re.compile(r"(?:[^({=]*(?:=|\\in\b)\s*)?(\\\{|\()")


def verify_within(seconds: float, expected: str, answer: str, question: str = "") -> tuple[float, str]:
    """Returns the result of `verify_answer`, and has the kernel end this process after `seconds`, also in C code.

    It is called in a forked process. The parent lives on, so that the next call need not import anything again.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return verify_answer(expected, answer, question)


def verify_answer(expected: str, answer: str, question: str = "") -> tuple[float, str]:
    """Returns 1 if the answer (its last box, or boxes that are one answer, if it has any) equals the expected one, else 0;
    and a text with the reason. Returns 0 also for an answer that is longer than `LONGEST`, has no expression, is taken
    back (`standing_box`, `answer_instead`), hedged or left to compute, or has words behind a number that are no unit, nor
    words of the expected answer, nor what `question` counts.
    """
    logging.getLogger("math_verify").setLevel(logging.ERROR)  # each process would warn that the time limits are off
    expected, answer = with_boxes_joined(expected), with_latex_boxes(answer)
    joined = with_boxes_joined(answer)
    value, reason = _verify_first(expected, answer, question)
    later = answer_instead(joined, question) if value else None
    if later is None or _verify_first(expected, f"The answer is {later}.", question)[0]:
        return value, reason
    box = standing_box(joined, question)
    if box is not None and _verify_first(expected, rf"\boxed{{{later} = {box}}}", question)[0]:  # it is rounded
        return value, reason
    return 0.0, f"{_short(later)} is given instead of the answer before it"


def _verify_first(expected: str, answer: str, question: str) -> tuple[float, str]:
    """Returns what `verify_answer` does, for an answer behind whose value no other one is given. A box in which a value is
    spelled twice has to have the expected one twice, and boxes that are one answer may each have it.
    """
    joined = with_boxes_joined(answer)
    value, reason = _verify_one(expected, joined, question)
    box = None if value else standing_box(joined, question)
    chosen = announced_end(answer) if not value and last_boxed(answer) is None and not is_denied_answer(answer) else box
    if chosen is not None and box is None:
        chosen = without_reason(chosen, options_in(question))
    if chosen is not None and len(chosen) <= LONGEST and _is_expected_option(expected, chosen, question):
        return 1.0, f"{_short(chosen)} is the option that is expected"
    if box is None or len(box) > LONGEST or not (spellings := two_spellings(box) or joined_values(answer, box)):
        return value, reason
    like = (1.0, "")
    for spelling in dict.fromkeys(spellings):
        if (like := _verify_one(expected, rf"\boxed{{{spelling}}}", question))[0] == 0:
            return value, reason
    return like


def _is_expected_option(expected: str, box: str, question: str) -> bool:
    """Says whether a box, or what is announced as the answer, has the expected one of the question's options: its letter,
    its text or both.
    """
    options = options_in(question)
    wanted = option_of(bare_expression(inside if (inside := last_boxed(expected)) is not None else expected), options)
    if wanted is None:
        return False
    letter, text = choice_in(box, options)
    if letter is None and not text:
        return False
    fitting = {one for one in options if not text or _verify_one(options[one], rf"\boxed{{{text}}}", question)[0] == 1}
    return letter == wanted in fitting if letter else fitting == {wanted}


def _verify_one(expected: str, answer: str, question: str) -> tuple[float, str]:
    box, inside = standing_box(answer, question), last_boxed(expected)
    if box is None and ((is_boxed := last_boxed(answer) is not None) or is_denied_answer(answer)):
        return 0.0, f"the {'box' if is_boxed else 'answer'} is taken back"
    answer, box = with_letters_alike(expected, answer), None if box is None else with_letters_alike(expected, box)
    counted = counted_in(question)
    expected = with_digits(bare_expression(expected if inside is None else inside), counted)
    expected, named = without_other_words(expected)
    question = named or question
    said = without_quotes(without_names(with_spaces(_tagged(answer)))) if box is None else box
    if len(said) > LONGEST:
        return 0.0, f"{len(said)} characters are not read as an answer"
    if box is None and _is_one(expected):
        said = without_contrast(without_struck(said))
        if is_hedged(said) or is_changed(said) or not _are_all(expected, alternatives(said) or ()):
            return 0.0, f"{_short(said[-SHOWN:])} is hedged"
    if box is not None:
        return _compare(expected, said, box, question)
    said = with_last_line(said)
    announced = announced_value(said)
    if announced is None:
        return _compare_end(expected, said, question)
    read, is_whole = _compare_announced(expected, announced.value, question)
    is_alone = is_whole and not announced.is_followed
    return read if is_alone else max(read, _compare_end(expected, announced.rest, question), key=itemgetter(0))


def _compare_announced(expected: str, value: str, question: str) -> tuple[tuple[float, str], bool]:
    """Returns what `verify_answer` does, for a bare expected answer and the clause that announces an answer; and whether
    this is a whole value, as `3 times the radius` is none.
    """
    value = _MARKED.sub(_without_marks, value)
    if last_expression(f"Answer: {value}.") is not None:
        return _compare_end(expected, f"Answer: {value}.", question), True
    if split_quantity(value) is not None:
        return _compare(expected, value, value, question), True
    named = _NUMBER_AND_WORDS.fullmatch(value)
    is_named = named is not None and may_name(named[2])
    box = named[1] if named is not None and is_named and PLAIN_NUMBER.fullmatch(expected) else value
    return _compare(expected, box, box, question), is_named


def _compare_end(expected: str, said: str, question: str) -> tuple[float, str]:
    """Returns what `verify_answer` does, for a bare expected answer and an answer without a box, which counts as a whole: the
    expression with which it ends is read as if it were in one.
    """
    value, reason = _compare(expected, said, _last_value(expected, said, question), question)
    end = last_expression(said if split_quantity(expected) else without_unit_words(said))
    if end is None or (may_have_more(end) if value else is_left_open(said, end)):
        return value, reason
    is_value = "=" not in expected
    bare = without_name(end) if value or is_value else end
    bare = value_of(said, end, question) if value and is_value else bare
    readings = dict.fromkeys([end, bare, without_last_unit(bare) if value else bare])
    return max((_compare(expected, one, one, question) for one in readings), key=itemgetter(0))


def _compare(expected: str, said: str, box: str | None, question: str) -> tuple[float, str]:
    """Returns what `verify_answer` does, for a bare expected answer and an answer that is not hedged. `box`: what is in its
    box, or what is read as if it were; None if all of `said` is looked through. Of a value that is given exactly and
    rounded, either may be expected; a decimal, and a fraction to a whole number, may be rounded where the question asks
    for that.
    """
    value, reason = _compare_once(expected, said, box, question)
    pair = exact_and_rounded(box) if box is not None and not value and _is_one(expected) else None
    if pair is None or not _is_rounded(*pair, is_asked=asks_to_round(question)):
        return value, reason
    return _compare_once(expected, pair[1], pair[1], question)


def _is_rounded(exact: str, rounded: str, is_asked: bool) -> bool:
    """Says whether an expression, perhaps with a name before it and a unit behind, is a number that is rounded to another.
    Unless the question asks for that, what is rounded has to be exact, and irrational if it is rounded to a whole number.
    """
    quantity, end = split_quantity(rounded), bare_expression(without_name(without_text(exact)))
    read = read_alone((split_quantity(end) or (end,))[0])
    value = to_exact(read[0]) if read else None
    if not isinstance(value, Expr) or value.free_symbols or not is_quick(value) or not value.is_real:
        return False
    number, written = value.evalf(), quantity[0] if quantity else rounded
    is_exact = not is_decimal(exact) and ("." in written or value.is_irrational is True)
    if not isinstance(number, Float) or not (is_asked or is_exact):
        return False
    return is_rounding(Decimal(str(number)), written, to_ones=not is_asked)


def _compare_once(expected: str, said: str, box: str | None, question: str) -> tuple[float, str]:
    counted = counted_in(question)
    bare = with_digits(bare_expression(said if box is None else box), counted)
    if (is_same := _is_same_outside_mathematics(expected, bare, question)) is not None:
        return float(is_same), f"{_short(bare)}, expected {expected!r}"
    if box is not None:
        if (why := why_inexact(expected, bare)) is not None:
            return 0.0, f"{_short(bare)} {why}"
        expected, said, refused = _compared(with_unit_in_text(expected, bare, question), box, question)
        if refused:
            return 0.0, refused
        if not have_like_names(expected, said):
            return 0.0, f"{_short(said)} is another quantity than {_short(expected)}"
        ends_in_letter = may_end_in_variable(expected, said, question)
        gold, given = read_alone(expected, ends_in_letter), read_alone(said, ends_in_letter)
    else:
        gold, given = read_alone(_amount(expected)), read_within(said, counted)
    if not gold or not given:
        return 0.0, "no expression was found" if gold else f"the expected answer {expected!r} is no expression"
    if first_relation(str(given[-1])) != first_relation(str(gold[-1])):
        return 0.0, f"{_short(given[-1])} is another relation without its left side, expected {_short(gold[-1])}"
    if not _are_equal(gold, given) or not are_in_bases(str(given[-1]), str(gold[-1])):
        return 0.0, f"{_short(given[-1])}, expected {_short(gold[-1])}"
    if _is_left_to_compute(given) and not is_number_as_power(given[0], question) and not _is_left_to_compute(gold):
        return 0.0, f"{_short(given[-1])} equals {_short(gold[-1])}, but is left to compute"
    return 1.0, f"{_short(given[-1])} equals {_short(gold[-1])}"


def warm_up() -> None:
    """Fills the caches that a first call needs. Forks inherit them, and then take 20 ms instead of 150."""
    for expected, answer in WARM_UP:
        verify_answer(expected, answer)


def _are_equal(gold: list[Any], given: list[Any]) -> bool:
    """Says whether two lists of values are equal. An unsolved relation and its solution are not; nor a pair, a set and a
    range of the same numbers; nor a value at the end of a false equation.

    `gold`, `given`: values as `read_alone` returns them, for the expected answer and the answer.
    """
    if _is_false(given) and not _is_false(gold):
        return False
    if is_left_to_solve(given[0], gold[0]) or {_bracket(gold), _bracket(given)} == {"(", "\\{"}:
        return False
    if (ordered := with_order(gold, given)) is None:
        return False
    exact_gold, exact_given = (
        [to_exact(one) for one in (value, *read[1:])] for value, read in zip(ordered, (gold, given), strict=True)
    )
    equal: bool = verify(
        exact_gold, exact_given, numeric_precision=PLACES, allow_set_relation_comp=True, timeout_seconds=None
    )
    return equal


def _is_false(read: list[Any]) -> bool:
    return bool(read) and not _IN_OTHER_UNITS.search(str(read[-1])) and is_false(read[0])


def _are_all(expected: str, values: Sequence[str]) -> bool:
    """Says whether each value equals the number of a bare expected answer."""
    gold = read_alone((split_quantity(expected) or (expected,))[0])
    return all(_are_equal(gold, read_alone(value)) for value in values)


def _is_left_to_compute(read: list[Any]) -> bool:
    text = str(read[-1])
    if _EVALUATED.search(text) is None:
        return is_left_to_compute(read[0])
    *others, last = EQUALS.split(text) if "," not in text else [text]
    if any(map(PLAIN_NUMBER.fullmatch, map(str.strip, others))):
        return is_left_to_compute(read[0])
    end = read_alone(last) if others else read
    return _EVALUATED.search(last) is not None or (bool(end) and is_left_to_compute(end[0]))


def _bracket(read: list[Any]) -> str | None:
    """Returns the bracket, round or curly, around values that `read_alone` returned; None if there is none."""
    found = _BRACKET.match(str(read[-1]))
    return found[1] if found and isinstance(read[0], Set | Tuple | Eq) else None


def _short(written: Any) -> str:
    text = str(written)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _compared(expected: str, box: str, question: str) -> tuple[str, str, str]:
    """Returns a bare expected answer and the inside of a box without their units and number words, and the reason why
    the box is another answer, or "".
    """
    expected, box = with_ratios_alike(*with_commas_alike(expected, box))
    box = _GROUPED_WIDELY.sub("", box) if _is_plain(expected) else box
    if PLAIN_NUMBER.fullmatch(expected):
        box = without_asked_base(box, question)
        box = without_modulus(box, question)
    boxed = without_place(with_digits(bare_expression(box), counted_in(question)), question)
    expected, boxed = with_micro_units(expected, boxed)
    expected, boxed = with_molar_units(expected, boxed, asks_for_molarity(question))
    expected, boxed = _without_named_sides(expected, boxed)
    boxed = bare_quantity(boxed) if _is_plain(expected) else boxed
    here, there = split_quantity(expected), split_quantity(boxed)
    if (more := _words_behind(boxed, expected, question)) is not None:
        return expected, boxed, f"{_short(box)} has words behind a number that are no unit: {_short(more)}"
    if (percent := _equal_percentages(expected, boxed, question)) is not None:
        return *percent, ""
    if here is not None and there is not None:
        reason = "" if are_same_units(here[1], there[1]) else f"{_short(box)} has another unit than {_short(expected)}"
        return here[0], there[0], reason
    if not have_same_units(expected, boxed) if here is None else has_other_symbols(boxed, here[1]):
        return expected, boxed, f"{_short(box)} has another unit than {_short(expected)}"
    if here is not None and _is_plain(expected) and not _IN_SIGNS & here[1].keys():
        amount = _without_unit(boxed, there, here[0], question)
        if PLAIN_NUMBER.fullmatch(amount):
            return here[0], amount, ""
    return expected, _without_unit(boxed, there, expected, question), ""


def _without_named_sides(expected: str, boxed: str) -> tuple[str, str]:
    """Returns two bare expressions of which one is an equation without the sides that name its value, and with its numbers
    of combinations written out.
    """
    is_equation, is_other = (EQUALS.search(text) is not None for text in (expected, boxed))
    if is_equation == is_other:
        return expected, boxed
    return (without_applied(expected), boxed) if is_equation else (expected, with_binomials(without_applied(boxed)))


def _equal_percentages(expected: str, boxed: str, question: str) -> tuple[str, str] | None:
    """Returns the numbers of an expected answer and a box of which one is a percentage, if they are equal and the question
    asks for percent; None otherwise. math-verify would read 0.5 % as another text than a half.
    """
    signed = [percentage_of(text) or percentage_in_words(text) for text in (expected, boxed)]
    if (signed[0] is None) == (signed[1] is None) or not asks_for_percent(question):
        return None
    gold, given = (number or text for number, text in zip(signed, (expected, boxed), strict=True))
    are_numbers = PLAIN_NUMBER.fullmatch(gold) and PLAIN_NUMBER.fullmatch(given)
    return (gold, given) if are_numbers and _are_equal(read_alone(gold), read_alone(given)) else None


def _tagged(answer: str) -> str:
    """Returns what stands between the last tags `<answer>`; the whole answer if it has none."""
    return answer.rpartition("<answer>")[2].partition("</answer>")[0].strip()


def _last_value(expected: str, said: str, question: str) -> str | None:
    """Returns what an answer without a box ends with, if that is a number in words or with a power of ten,
    several quantities where one value is expected, several numbers of which the last stands behind `and`, words or a
    quantity where such are expected, or a percentage that the question asks for; None if it ends otherwise.
    """
    if (words := announced_words(expected, said)) is not None:
        return words
    if compound_of(expected) or _is_one(expected):
        several = last_quantities(tidy(said[-LAST:]))
        if several is not None:
            return several
    found = _LAST_VALUE.match(_MARKDOWN.sub("", said).strip())
    if found is None:
        return None
    plain = _MARKED.sub(_without_marks, found[1])
    if "," in expected and _SEVERAL.fullmatch(plain := plain.strip(" *`.")):
        return re.sub(r",?\s+and\b", ",", plain)
    end = bare_expression(plain)
    is_quantity = split_quantity(expected) is not None and split_quantity(end) is not None
    is_number = in_words(end) is not None or _ONLY_IN_LATEX.fullmatch(end) or _E_NOTATION.fullmatch(found[1])
    is_percentage = _equal_percentages(expected, end, question) is not None
    are_none = end in (NO_REAL, "\\emptyset") and expected in (NO_REAL, "\\emptyset")
    if is_quantity:
        return end
    return found[1] if is_number or is_percentage or are_none else None


def _without_marks(found: re.Match[str]) -> str:
    inside: str = next(filter(None, found.groups()))
    return inside


def _is_same_outside_mathematics(expected: str, answer: str, question: str) -> bool | None:
    """Says whether a bare answer is the expected words, date, time or quantities side by side, of which math-verify would
    read another value (of words the product of their letters); None if none of these is expected.
    """
    if NO_REAL in (expected, answer):
        is_over_reals = expected == NO_REAL or _OVER_REALS.search(question) is not None
        return expected == answer or (is_over_reals and "\\emptyset" in (expected, answer))
    is_other = "clock" in answer and PLAIN_NUMBER.fullmatch(expected) and not asks_for_time(question)
    if not is_other and (is_same := are_same_words(expected, answer)) is not None:
        return is_same
    if (is_same := are_same_statements(expected, answer)) is not None:
        return is_same
    if (parts := are_same_parts(expected, answer, question, _are_equal_alone)) is not None:
        return parts
    gold, given = compound_of(expected), quantities_of(answer)
    if given and (gold or _is_one(expected)):
        return _are_same_quantities(gold, given)
    return False if gold and "," not in expected else None


def _are_equal_alone(expected: str, answer: str) -> bool:
    gold, given = read_alone(expected), read_alone(answer)
    return expected == answer or bool(gold and given and _are_equal(gold, given))


def _are_same_quantities(gold: Quantities, given: Quantities) -> bool:
    """Says whether each quantity has its like, in any order."""
    return len(gold) == len(given) and all(
        any(are_same_units(unit, other) and _are_equal(read_alone(number), read_alone(value)) for value, other in given)
        for number, unit in gold
    )


def _is_one(expected: str) -> bool:
    """Says whether a bare expected answer is one number or quantity."""
    return PLAIN_NUMBER.fullmatch(expected) is not None or split_quantity(expected) is not None


def _is_plain(expected: str) -> bool:
    """Says whether a bare expected answer is a plain number, with or without a unit."""
    return PLAIN_NUMBER.fullmatch((split_quantity(expected) or (expected,))[0]) is not None


def _amount(expected: str) -> str:
    """Returns the number of a bare expected quantity; other expected answers, and percentages and temperatures, as they are."""
    quantity = split_quantity(expected)
    if quantity is None or _IN_SIGNS & quantity[1].keys() or not PLAIN_NUMBER.fullmatch(quantity[0]):
        return expected
    return quantity[0]


def _words_behind(boxed: str, expected: str, question: str) -> str | None:
    """Returns the first words behind a number in a bare box that may make another number of it, or deny it; None if
    there are none. `is_ending` says which words leave a number as it is.
    """
    if percentage_in_words(boxed):
        return None
    first = _FIRST_VALUE.search(boxed)
    is_one = _is_one(expected)
    for found in _TEXT.finditer(boxed, first.end() if first else len(boxed)):
        words = found[1].strip()
        is_last = found.end() == len(boxed)
        if not is_ending(words, expected, question, is_last) or (is_one and not is_last and _JOINED.search(words)):
            return words
    plain = _NUMBER_AND_WORDS.fullmatch(boxed) if PLAIN_NUMBER.fullmatch(expected) else None
    return plain[2] if plain is not None and not is_ending(plain[2], expected, question) else None


def _without_unit(boxed: str, quantity: tuple[str, Powers] | None, expected: str, question: str) -> str:
    """Returns a bare box without its unit, if a number is expected, and as a number what is not a percentage; the sign
    of a currency goes too. Otherwise percent is a sign. A percentage that the question doesn't ask for is a share of 1.

    `quantity`: number and unit of the box, if it has a unit.
    """
    if not PLAIN_NUMBER.fullmatch(expected):
        percent = percentage_in_words(boxed)
        return boxed if percent is None else f"{percent}\\%"
    if quantity is not None:
        if "%" not in quantity[1]:
            return quantity[0]
        is_share = quantity[1] == {"%": 1} and question and not asks_for_percent(question)
        return f"\\frac{{{quantity[0]}}}{{100}}" if is_share and PLAIN_NUMBER.fullmatch(quantity[0]) else boxed
    bare = _SECOND.sub("", CURRENCY.sub("", boxed))
    words = _NUMBER_AND_WORDS.fullmatch(bare)
    if words is not None and is_ending(words[2], expected, question):
        return words[1]
    both = NUMBER_AND_UNIT.fullmatch(bare)
    return both[1] if both is not None and not both[2] else bare
