"""Finds a judge's label in its answer. All functions take linear time."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from ray_gym.graders.characters import MARKS
from ray_gym.graders.doubts import Doubts
from ray_gym.graders.finder import finder_of, within_brackets
from ray_gym.graders.members import without_reason
from ray_gym.graders.numbers_apart import (
    is_count,
    is_lack,
    is_top_of_scale,
    is_within_a_line,
    numbers_of_list,
    title_of_score,
)
from ray_gym.graders.places import is_ranked_below, names_the_loser
from ray_gym.graders.quotes import Quotes
from ray_gym.graders.restated import restates_another
from ray_gym.graders.scales import Scales
from ray_gym.graders.swayed import Swayed
from ray_gym.graders.titles import begins_a_reason, names_no_score, without_parts
from ray_gym.models.thoughts import last_words

_MOST_LABELS = 40
"""Largest number of labels in a text whose sentences are looked at, the first and the last ones: each takes the event loop
some 0.3 ms, and a judge that repeats itself has hundreds.
"""
_BRACKETS = "[](){}<> "
_SLASH = re.compile(r"[\s*_`]{0,4}/[\s*_`]{0,4}")
_ARROW = re.compile(r"[\s*_`]{0,4}(?:[-=]{1,2}>|[\u2192\u21d2\u27f6])[\s*_`]{0,4}")
_BEGINS = re.compile(rf"(?:\A|[.:|,;\n]|[-=]>|[\u2192\u21d2\u27f6]){MARKS}{{0,9}}\Z")
_ESCAPED = re.compile(r"&(?:#\d{2,5}|#x[\da-fA-F]{2,5}|[a-z]{2,6});")
_STYLES = re.compile(
    r"(?<![A-Za-z])\\(?:(?:text|math)(?:bf|it|md|rm|sf|tt|normal)?|mbox|emph|underline)\s{0,4}(?=\{)(?!\{[^{}]{0,99}\}[A-Za-z])"
    r"|\\(?=[_<>=])"
)
"""TeX's style of a text in braces that is no part of a longer word, and Markdown's backslash before a sign of a label:
`\\text{YES}`, `NOT\\_ATTEMPTED`.
"""
_RESULT = re.compile(r"\[RESULT\]\s{0,9}")
"""Mark before the score of judges that are trained for it (Prometheus): a title."""
_TITLE_ENDS = re.compile(r"[\s*_`)\]]{0,6}[:=?\uff1a]")


class _Reading(NamedTuple):
    """Says how a label in a text is to be taken."""

    label: str | None
    """The label; None for one that is doubtful."""
    stated: bool
    """False for a label in the midst of a sentence, or one that is withdrawn or quoted: it is no verdict by itself."""
    quoted: bool = False
    """True for a label of someone else's, or of the answer that loses: a verdict that follows counts."""
    loses: bool = False
    """True for the name of the answer that loses: it confirms a verdict for another one before it."""
    titled: Literal["line", "key"] | None = None
    """line for a score with only its title on its line (`Score: 4`), key for one in JSON: they decide over prose."""
    prose: Literal["unplaced", "placed"] | None = None
    """Says of a number in the midst of a line whether it stands as a verdict there; None for other labels."""


def clear_label(text: str, labels: Iterable[str]) -> str | None:
    """Returns the one label in a text; None if there is none, or if there are different ones, or one with a `not` or a
    word such as `partially`, or none that stands as a verdict (`_labels_in`).
    """
    found = _readings(text, labels)
    (label, *others) = {reading.label for reading in found} or {None}
    return label if not others and any(reading.stated for reading in found) else None


def last_label(text: str, labels: Iterable[str]) -> str | None:
    """Returns the label that comes last in a text; None if there is none, or if it has a `not` or a word such as
    `partially`. One that does not stand as a verdict counts only if the last that does is the same.
    """
    found = _readings(text, labels)
    stated = next((reading.label for reading in reversed(found) if reading.stated), None)
    return stated if found and found[-1].label == stated else None


def without_styles(said: str, labels: Iterable[str]) -> str:
    """Returns a text without TeX's styles, and without Markdown's backslashes before signs that are in labels."""
    return said if any("\\" in label for label in labels) else _STYLES.sub("", said)


def _readings(text: str, labels: Iterable[str]) -> Sequence[_Reading]:
    """Returns the labels in a text, in order, without those that are quoted before a verdict, and without numbers in
    sentences if a score has a title.
    """
    found = list(_labels_in(text, labels))
    own = max((place for place, reading in enumerate(found) if reading.stated), default=-1)
    verdict = found[own].label if own >= 0 else None
    found = [
        _beside(reading, verdict) if place > own else reading
        for place, reading in enumerate(found)
        if not reading.quoted or (place > own and not _confirms(reading, verdict))
    ]
    titled = max((place for place, reading in enumerate(found) if reading.titled), default=-1)
    if titled < 0:
        return found
    later = found[titled].titled == "line"
    return [one for at, one in enumerate(found) if not one.prose or (later and at > titled and one.prose == "placed")]


def _stated(text: str, labels: Iterable[str]) -> list[str | None]:
    return [reading.label for reading in _readings(text, labels) if reading.stated]


def _confirms(reading: _Reading, verdict: str | None) -> bool:
    """Returns True if a name of the answer that loses is another than the verdict before it."""
    return reading.loses and verdict is not None and reading.label != verdict


def _beside(reading: _Reading, verdict: str | None) -> _Reading:
    """Returns a reading behind a verdict. The name of the answer that loses is doubtful if it is the verdict."""
    return reading._replace(label=None) if reading.loses and reading.label == verdict else reading


def _labels_in(text: str, labels: Iterable[str]) -> Iterator[_Reading]:
    """Yields the labels after the last thought in a text, in order: not those in longer words or numbers, nor those
    behind an empty box. One is doubtful with a `not` before it, a degree, a bound or a value beside it (`hedges`), or a
    word of negation or doubt or another label in its sentence (`Doubts`). Of two at the same place, the longer counts.

    A label is a verdict if it is alone on its line, or stands in its sentence as verdicts do (`places`), is neither
    quoted (`Quotes`) nor the name of the worse answer, and nothing withdraws it later. In the midst of very many, one
    counts as what it spells, and is no verdict.
    """
    finder = finder_of(tuple(labels))
    plain = _ESCAPED.sub(
        lambda found: html.unescape(found[0]),
        without_reason(last_words(text), finder, lambda reason: _stated(reason, labels)),
    )
    plain = _RESULT.sub("\nScore: ", without_styles(plain, finder.labels))
    whole = without_parts(finder.unticked.sub("", plain), {within_brackets(label) for label in finder.labels})
    scales = Scales(finder.without_marks_in_words(whole), finder.labels)
    said = scales.said
    matches = list(finder.anything.finditer(said)) if finder.labels else []
    matches = [found for found in matches if found.lastgroup is not None]  # the others are numbers on a scale
    listed = numbers_of_list(said) if matches else frozenset()
    matches = [found for found in matches if found.start() not in listed and not _is_no_score(said, found)]
    if not matches:  # the doubts of a long text take their time
        return
    swayed = Swayed(finder.labels)
    doubts, quotes = Doubts(said, finder, [found.span() for found in matches]), Quotes(said)
    forms = _in_forms(said, matches, finder.names)
    verdict = None
    for place, found in enumerate(matches):
        if found in forms:
            if not forms[found]:
                yield _Reading(None, stated=True)
            continue
        if found.lastgroup == "negated":
            denied = [label for label in finder.labels if found[0].endswith(label)]
            if not denied or verdict is None or verdict[1] in denied or not _is_apart(said, verdict[0], found.start()):
                yield _Reading(None, stated=True)
        elif finder.exactly.search(found[0]):  # else it is one in another letter case
            label = finder.labels[int(str(found.lastgroup).removeprefix("label"))]
            is_number = label.strip().isdigit() or label.strip().lower() == "no"  # No rude words
            if label.strip().lower() == "no" and is_lack(said, found.end()):
                continue
            if is_number and is_count(said, found.end()) and not doubts.states(label, *found.span()):
                continue
            if label.strip(_BRACKETS)[:1].isdigit() and scales.is_another(label, found.start()):
                if doubts.states(label, *found.span()):
                    yield _Reading(None, stated=True)
                continue
            if _MOST_LABELS // 2 <= place < len(matches) - _MOST_LABELS // 2:
                yield _Reading(label, stated=False)
            elif quotes.hold(*found.span(), is_name=(is_name := label in finder.names)):
                yield _Reading(label, stated=False, quoted=True)
            elif is_name and ((loses := names_the_loser(said, *found.span())) or is_ranked_below(said, *found.span())):
                yield _Reading(label, stated=False, quoted=True, loses=loses)
            else:
                doubtful = doubts.of(label, *found.span()) or swayed.is_swayed(said, label, *found.span())
                placed = doubts.states(label, *found.span())
                verdict = (found.end(), label) if placed and not doubtful else verdict
                is_score = label.strip().isdigit()
                titled = title_of_score(said, *found.span()) if is_score and placed and not doubtful else None
                in_prose = is_score and (is_within_a_line(said, found.start()) or begins_a_reason(said, *found.span()))
                prose: Literal["unplaced", "placed"] | None = ("placed" if placed else "unplaced") if in_prose else None
                yield _Reading(None if doubtful else label, doubtful or placed, titled=titled, prose=prose)
    if verdict is not None and restates_another(said, *verdict, finder):
        yield _Reading(None, stated=True)


def _is_apart(said: str, end: int, start: int) -> bool:
    """Returns True if a label from `start` is on another line, or behind another title, than a verdict up to `end`."""
    return any(sign in said[end : min(start, end + 99)] for sign in "\n:\uff1a")


def _in_forms(said: str, matches: Sequence[re.Match[str]], names: frozenset[str]) -> Mapping[re.Match[str], bool]:
    """Returns the labels with only a slash between them, as in a form (`[[YES]]/[[NO]]`), or an arrow between names of
    answers, which may be a ranking or a revision (`B -> A`). Each is with True if they are the title of what follows
    (`PASS/FAIL: PASS`).
    """
    forms: dict[re.Match[str], bool] = {}
    for one, other in reversed(list(pairwise(matches))):
        if one[0] != other[0] and (
            _SLASH.fullmatch(said, one.end(), other.start()) or _is_arrow(said, one, other, names)
        ):
            is_title = forms.get(other, _TITLE_ENDS.match(said, other.end()) is not None)
            forms[one] = forms[other] = is_title
    return forms


def _is_arrow(said: str, one: re.Match[str], other: re.Match[str], names: frozenset[str]) -> bool:
    """Returns True if a sentence begins with one name of an answer, and only an arrow is between it and the other."""
    is_between = {one[0], other[0]} <= names and _ARROW.fullmatch(said, one.end(), other.start())
    return bool(is_between and _BEGINS.search(said, max(0, one.start() - 12), one.start()))


def _is_no_score(said: str, found: re.Match[str]) -> bool:
    """Returns True if a label is a number that is the top of a scale, or is titled as something else."""
    is_number = found[0].strip(_BRACKETS)[:1].isdigit()
    return is_number and (is_top_of_scale(said, found.start()) or names_no_score(said, *found.span()))
