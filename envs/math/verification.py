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

from sympy import Expr, Float

from ray_gym.envs.math.amounts import NUMBER_AND_WORDS, amount_of, compared, is_one
from ray_gym.envs.math.announced import announced_value
from ray_gym.envs.math.bases import are_in_bases
from ray_gym.envs.math.compound import Quantities, compound_of, quantities_of
from ray_gym.envs.math.displays import with_last_line
from ray_gym.envs.math.dress import NO_REAL, without_names
from ray_gym.envs.math.east_asian import is_changed, with_spaces
from ray_gym.envs.math.endings import counted_in, may_name
from ray_gym.envs.math.equality import are_equal, are_equal_alone, is_left_unevaluated
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
from ray_gym.envs.math.last_value import last_value, tagged_part, without_marks
from ray_gym.envs.math.notation import bare_expression
from ray_gym.envs.math.number_words import with_digits
from ray_gym.envs.math.options import choice_in, option_of, options_in, without_reason
from ray_gym.envs.math.parted import are_same_parts
from ray_gym.envs.math.powers import is_number_as_power
from ray_gym.envs.math.prose import without_quotes
from ray_gym.envs.math.reading import read_alone, read_within
from ray_gym.envs.math.reduction import to_exact
from ray_gym.envs.math.relations import first_relation
from ray_gym.envs.math.rounded import asks_to_round, exact_and_rounded, is_decimal, is_quick, is_rounding, without_text
from ray_gym.envs.math.scripts import without_other_words
from ray_gym.envs.math.shown import SHOWN, short
from ray_gym.envs.math.spelled_twice import two_spellings
from ray_gym.envs.math.statements import are_same_statements
from ray_gym.envs.math.unit_table import are_same_units
from ray_gym.envs.math.units import PLAIN_NUMBER, split_quantity
from ray_gym.envs.math.whole import have_like_names, with_letters_alike
from ray_gym.envs.math.word_lists import are_same_lists
from ray_gym.envs.math.words import announced_end, are_same_words, asks_for_time
from ray_gym.graders import last_boxed
from ray_gym.graders.boxes import with_latex_boxes
from ray_gym.graders.denials import without_struck
from ray_gym.graders.replaced import is_denied_answer
from ray_gym.graders.withdrawn import answer_instead, standing_box

WARM_UP = (
    ("\\frac{1}{2}", "It is 3/4, and the answer is $x = \\frac{1}{3}$."),
    ("\\{1, \\sqrt{2}\\}", "\\boxed{\\{\\frac{3}{2}, -x\\}}"),
    ("(-\\infty, 3) \\cup (5, \\infty)", "\\boxed{[2, 5)}"),
    ("x^{2} - 5x + 6", "\\boxed{(x - 2)(x - 4)}"),
    ("12\\pi", "\\boxed{12.5 \\cdot \\pi}"),
    ("25\\%", "\\boxed{2 < x \\le 3}"),
)
"""Expected answers and answers of many kinds, with which `warm_up` fills caches."""
_OVER_REALS = re.compile(r"(?i:\breals?\b)|\\mathbb\s?\{?\s?R|\u211d")


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
    return 0.0, f"{short(later)} is given instead of the answer before it"


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
        return 1.0, f"{short(chosen)} is the option that is expected"
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
    said = without_quotes(without_names(with_spaces(tagged_part(answer)))) if box is None else box
    if len(said) > LONGEST:
        return 0.0, f"{len(said)} characters are not read as an answer"
    if box is None and is_one(expected):
        said = without_contrast(without_struck(said))
        if is_hedged(said) or is_changed(said) or not _are_all(expected, alternatives(said) or ()):
            return 0.0, f"{short(said[-SHOWN:])} is hedged"
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
    value = without_marks(value)
    if last_expression(f"Answer: {value}.") is not None:
        return _compare_end(expected, f"Answer: {value}.", question), True
    if split_quantity(value) is not None:
        return _compare(expected, value, value, question), True
    named = NUMBER_AND_WORDS.fullmatch(value)
    is_named = named is not None and may_name(named[2])
    box = named[1] if named is not None and is_named and PLAIN_NUMBER.fullmatch(expected) else value
    return _compare(expected, box, box, question), is_named


def _compare_end(expected: str, said: str, question: str) -> tuple[float, str]:
    """Returns what `verify_answer` does, for a bare expected answer and an answer without a box, which counts as a whole: the
    expression with which it ends is read as if it were in one.
    """
    value, reason = _compare(expected, said, last_value(expected, said, question), question)
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
    pair = exact_and_rounded(box) if box is not None and not value and is_one(expected) else None
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
        return float(is_same), f"{short(bare)}, expected {expected!r}"
    if box is not None:
        if (why := why_inexact(expected, bare)) is not None:
            return 0.0, f"{short(bare)} {why}"
        expected, said, refused = compared(with_unit_in_text(expected, bare, question), box, question)
        if refused:
            return 0.0, refused
        if not have_like_names(expected, said):
            return 0.0, f"{short(said)} is another quantity than {short(expected)}"
        ends_in_letter = may_end_in_variable(expected, said, question)
        gold, given = read_alone(expected, ends_in_letter), read_alone(said, ends_in_letter)
    else:
        gold, given = read_alone(amount_of(expected)), read_within(said, counted)
    if not gold or not given:
        return 0.0, "no expression was found" if gold else f"the expected answer {expected!r} is no expression"
    if first_relation(str(given[-1])) != first_relation(str(gold[-1])):
        return 0.0, f"{short(given[-1])} is another relation without its left side, expected {short(gold[-1])}"
    if not are_equal(gold, given) or not are_in_bases(str(given[-1]), str(gold[-1])):
        return 0.0, f"{short(given[-1])}, expected {short(gold[-1])}"
    if is_left_unevaluated(given) and not is_number_as_power(given[0], question) and not is_left_unevaluated(gold):
        return 0.0, f"{short(given[-1])} equals {short(gold[-1])}, but is left to compute"
    return 1.0, f"{short(given[-1])} equals {short(gold[-1])}"


def warm_up() -> None:
    """Fills the caches that a first call needs. Forks inherit them, and then take 20 ms instead of 150."""
    for expected, answer in WARM_UP:
        verify_answer(expected, answer)


def _are_all(expected: str, values: Sequence[str]) -> bool:
    """Says whether each value equals the number of a bare expected answer."""
    gold = read_alone((split_quantity(expected) or (expected,))[0])
    return all(are_equal(gold, read_alone(value)) for value in values)


def _is_same_outside_mathematics(expected: str, answer: str, question: str) -> bool | None:
    """Says whether a bare answer is the expected words, date, time or quantities side by side, of which math-verify would
    read another value (of words the product of their letters); None if none of these is expected.
    """
    if NO_REAL in (expected, answer):
        is_over_reals = expected == NO_REAL or _OVER_REALS.search(question) is not None
        return expected == answer or (is_over_reals and "\\emptyset" in (expected, answer))
    is_other = "clock" in answer and PLAIN_NUMBER.fullmatch(expected) and not asks_for_time(question)
    if are_same_lists(expected, answer, question):
        return True
    if not is_other and (is_same := are_same_words(expected, answer)) is not None:
        return is_same
    if (is_same := are_same_statements(expected, answer)) is not None:
        return is_same
    if (parts := are_same_parts(expected, answer, question, are_equal_alone)) is not None:
        return parts
    gold, given = compound_of(expected), quantities_of(answer)
    if given and (gold or is_one(expected)):
        return _are_same_quantities(gold, given)
    return False if gold and "," not in expected else None


def _are_same_quantities(gold: Quantities, given: Quantities) -> bool:
    """Says whether each quantity has its like, in any order."""
    return len(gold) == len(given) and all(
        any(are_same_units(unit, other) and are_equal(read_alone(number), read_alone(value)) for value, other in given)
        for number, unit in gold
    )
