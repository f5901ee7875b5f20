"""Finds what makes a label in a judge's answer doubtful."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from ray_gym.graders.characters import CROSSES, DASHES, MARKS, SPACES
from ray_gym.graders.contradictions import is_contradicted, is_said_of_a_part
from ray_gym.graders.finder import Finder, within_brackets
from ray_gym.graders.hedges import (
    BARE_DENIAL,
    BOUND_BEFORE,
    BOUND_BEHIND,
    DENIALS,
    DOUBTING,
    HEDGED_BEFORE,
    HEDGED_BEHIND,
    NO_NEXT,
    NO_VALUE,
    OF_A_FAULT,
    OF_PARTS,
    PRAISE,
    SOME_OF_IT,
    STRUCK,
    UNSURE,
    VALUE,
)
from ray_gym.graders.places import spelled_before, states_a_verdict
from ray_gym.graders.references import OF_ITS_FORM, is_of_the_reference
from ray_gym.graders.retractions import end_of_withdrawn, is_qualified, is_taken_back
from ray_gym.graders.titles import begins_a_reason, goes_on_behind_a_part

_ENDS = re.compile(
    r"[.!?;](?=[\s\"')\]*_`]|\Z)|[\u3002\uff01\uff1f\uff1b]|[\r\n\u2028\u2029]|,(?=\s*\"[^\"\n]{1,40}\"\s*:)"
    r"|(?<=\]\])[ \t](?=(?:It|The|They|Both|Each|Neither|All|There|He|She)(?:\s[\w'\u2019]+){3})"
)
"""Ends of sentences, of lines, of members of a JSON object, and of a label in brackets before a sentence."""
_BRACKETS = re.compile(r"\([^()\n]{0,300}\)|\uff08[^\uff08\uff09\n]{0,300}\uff09")
"""Brackets, in which a semicolon ends no sentence."""
_NOT_BEFORE_COLON = re.compile(r"(?i:(?:\bnot|n['\u2019]t|\bnever|\bcannot)[\s\"'*_`]*:)")
_WORDS = re.compile(r"[^\W_]")
_MORE_THAN_A_LABEL = re.compile(rf"[^\W_]|[?\uff1f~\u00ac{CROSSES}]|!(?=\Z)")
_LONGEST_MARGIN = 24
"""Largest number of signs around a label that stands alone on its line."""
_LONG_WORD = 4
"""Least number of letters of a label that counts in another letter case anywhere on a line: shorter ones are words."""
_BARE = 6
"""Number of characters at the beginning of a sentence in which a bare answer begins, also before a reason (`No, so ...`)."""
_LONGEST_HEDGE = 120
"""Largest number of characters before a label in which a degree or a bound is looked for."""
_LONGEST_REASON = 400
"""Largest number of characters behind a label in which a reason may begin."""


class Doubts:
    """Finds what makes a label doubtful: words of negation and doubt, and other labels, in the sentences of a text.

    Those words count wherever they are in the label's sentence, and in a bare answer next to it (`No. YES`, `YES? No.`):
    which of them belongs to the label is not guessed, for a judge can be asked again. A label that has its line for
    itself is never doubtful.
    """

    def __init__(self, said: str, finder: Finder, spans: Sequence[tuple[int, int]]) -> None:
        self._said, self._finder = said, finder
        brackets = [found.span() for found in _BRACKETS.finditer(said)]
        self._ends = [
            found.end()
            for found in _ENDS.finditer(said)
            if found[0] not in ";\uff1b" or not _is_within(found.start(), brackets)
        ]
        self._lines = [found.start() for found in _LINE_ENDS.finditer(said)]
        self._colons = [found.start() for found in _COLONS.finditer(said)]
        exact = {end for _, end in spans}
        praise = [found.span() for found in PRAISE.finditer(said)]
        self._others = [
            (found.start(), found.end(), finder.named(found[0]))
            for found in (finder.others.finditer(said) if finder.others else ())
            if found.end() not in exact and not _is_within(found.start(), praise)
        ]
        taken = sorted([*spans, *((start, end) for start, end, _ in self._others)])
        denials = [found for found in DENIALS.finditer(said) if not _is_within(found.end() - 1, taken)]
        denials = [found for found in denials if not _is_within(found.start(), praise)]
        self._answers = [found.start() for found in denials if found["answer"]]
        self._denials = [found.start() for found in denials if not found["answer"]]
        crosses = () if _TICK.search(said) else [found.start() for found in denials if found[0] in CROSSES]
        self._crosses = frozenset(crosses)
        self._doubting = [found.start() for found in denials if DOUBTING.match(found[0])]
        self._therefores = [found.end() for found in _THEREFORE.finditer(said)]
        self._withdrawn = end_of_withdrawn(said)
        self._struck = [found.span() for found in STRUCK.finditer(said)]
        self._other_starts = [start for start, _, _ in self._others]

    def of(self, label: str, start: int, end: int) -> bool:
        """Returns True if a label at this place is doubtful."""
        if self._is_struck(start, end):
            return True
        is_named = len(within_brackets(label)) == 1 and _NAME.match(self._said, end) is not None
        if not is_named and self._is_limited(label, start, end):
            return True
        first, last = self._sentence(start, end)
        if label not in self._finder.negative and self._is_contradicted(label, first, start, last):
            return True
        if self._is_alone(start, end):
            return False
        if is_named:
            last = end  # `B: INCORRECT` says what B means
        spelled = spelled_before(self._said, first, start, is_negative=label in self._finder.negative)
        if spelled is not None and not any(
            _any_in(places, first, spelled) for places in (self._denials, self._doubting)
        ):
            first = start
        near = max(first, start - _LONGEST_REASON), min(last, end + _LONGEST_REASON)
        if _QUESTIONED.match(self._said, end) or UNSURE.search(self._said, *near):
            return True
        if label in self._finder.negative:
            return self._takes_back(label, first, start, end, last)
        if NO_NEXT.match(self._said, end):
            return True
        reasoned = self._behind_therefore(first, start)
        if not label.strip()[0].isalnum() and (
            colon := _RIGHT_AFTER_COLON.search(self._said, max(first, start - 6), start)
        ):
            if _UNSAID.search(self._said, max(first, colon.start() - 24), colon.start() + 1):
                return True
            first = reasoned = colon.end()  # `I found nothing wrong: [[YES]]` tells its reason, and then the verdict
        if not label.strip()[0].isalnum() and (form := OF_ITS_FORM.search(self._said, end, min(last, end + 40))):
            last = form.start()  # `[[A=B]], although B has no units` denies nothing of the value
        if label.strip()[-1:].isdigit():  # what follows a score tells why it is not more
            why = _REASON.search(self._said, end, min(last, end + 200))
            last = why.start() if why else last
            denied = _any_in(self._denials, reasoned, last) or _any_in(self._answers, first, last)
            return denied or self._has_other(label, start, first, last)
        why = _BECAUSE.search(self._said, end, min(last, end + _LONGEST_REASON))
        wide = [] if is_named else self._with_answers(first, last)
        return (
            _any_in(self._denials, reasoned, why.start() if why else last)
            or _any_in(self._doubting, first, last)
            or any(
                _any_in(self._answers, *part) for part in ((first, min(first + _BARE, last)), (reasoned, last), *wide)
            )
            or self._has_other(label, start, first, last)
            or any(self._has_other(label, start, *part, in_any_case=True) for part in wide)
        )

    def states(self, label: str, start: int, end: int) -> bool:
        """Returns True if a label at this place is a verdict by its place, and is not withdrawn behind it."""
        around = self._around(start, end)
        is_score, is_negative = within_brackets(label)[-1:].isdigit(), label in self._finder.negative
        if self._withdrawn >= end or begins_a_reason(self._said, start, end):
            return False
        if goes_on_behind_a_part(self._said, *around) or is_taken_back(
            self._said, around[-1], is_score=is_score, is_negative=is_negative
        ):
            return False
        if label in self._finder.positive and is_qualified(self._said, end):
            return False
        if self._is_alone(start, end) or states_a_verdict(self._said, *around):
            return True
        is_spelled = spelled_before(self._said, around[0], start, is_negative=is_negative) is not None
        return is_spelled and _WORDS.search(self._said, end, around[-1]) is None

    def _is_struck(self, start: int, end: int) -> bool:
        """Returns True if a label is struck out, or next to something that is."""
        at = bisect_right(self._struck, (end, _FAR)) - 1
        return at >= 0 and self._struck[at][1] >= start

    def _is_limited(self, label: str, start: int, end: int) -> bool:
        """Returns True if a degree, a bound or a value beside a label makes less of it."""
        said, begin = self._said, max(0, start - _LONGEST_HEDGE)
        if HEDGED_BEFORE.search(said, begin, start) or HEDGED_BEHIND.match(said, end):
            return True
        if within_brackets(label)[-1:].isdigit():
            bound = BOUND_BEFORE.search(said, begin, start) or BOUND_BEHIND.match(said, end)
            return (bound is not None and said[end : end + 1] != ">") or NO_VALUE.match(said, end) is not None
        if label.strip().lower() in ("yes", "no") and OF_A_FAULT.search(said, begin, start):
            return True
        return VALUE.match(said, end) is not None or SOME_OF_IT.search(said, begin, start) is not None

    def _is_contradicted(self, label: str, first: int, start: int, last: int) -> bool:
        """Returns True if what is behind the sentence of a label that has an opposite denies it: explicitly, or in any way if
        the label is only about a part. A `yes` may agree with it, for nobody knows the question.
        """
        if not self._finder.negative or within_brackets(label).lower() in ("yes", "y"):
            return False
        if is_contradicted(self._said, start, last):
            return True
        behind = last, last + _LONGEST_REASON
        denied = _any_in(self._denials, *behind) or _any_in(self._answers, *behind)
        return denied and is_said_of_a_part(self._said, first, start)

    def _takes_back(self, label: str, first: int, start: int, end: int, last: int) -> bool:
        """Returns True if the sentence of a negative label denies it. A denial in a reason agrees with the label: one
        before its colon or `so`, or one behind a sign or `because`, with more words than the denial.
        """
        before, colon = first, self._behind_colon(first, start)
        first = max(colon, self._behind_therefore(first, start))
        if first > before and _NOT_BEFORE_COLON.search(self._said, max(before, first - 12), first):
            return True
        why = _BECAUSE_BEHIND.match(self._said, end)
        if why and BARE_DENIAL.match(self._said, why.end()):
            return True
        end, behind = why.end() if why else last, last
        agrees = _any_in(self._denials, before, first)  # what stands there is denied, as this label does
        told = agrees or _any_in(self._denials, end, behind) or OF_PARTS.match(self._said, end) is not None
        return (
            any(at not in self._crosses for at in _between(self._denials, first, end))
            or _any_in(self._doubting, colon, last)
            or self._has_other(label, start, first, end if told else last, only_there=told)
        )

    def _behind_therefore(self, first: int, start: int) -> int:
        """Returns the place behind the last `so` between both, or `first`: what stands before it is a reason."""
        at = bisect_right(self._therefores, start) - 1
        given = self._said.rfind(",", first, start) + 1 if _GIVEN.match(self._said, first) else 0
        return max(first, given, self._therefores[at] if at >= 0 else 0)

    def _around(self, start: int, end: int) -> tuple[int, int, int, int]:
        first, last = self._sentence(start, end)
        return first, start, end, last

    def _is_alone(self, start: int, end: int) -> bool:
        """Returns True if a label's line has nothing else but Markdown, brackets, quotes and full stops."""
        at = bisect_right(self._lines, start)
        begin = self._lines[at - 1] + 1 if at else 0
        stop = self._lines[at] if at < len(self._lines) else len(self._said)
        if start - begin > _LONGEST_MARGIN or stop - end > _LONGEST_MARGIN:
            return False
        before, after = self._said[begin:start], self._said[end:stop]
        return not (_MORE_THAN_A_LABEL.search(before) or _MORE_THAN_A_LABEL.search(after.replace("!", "")))

    def _sentence(self, start: int, end: int) -> tuple[int, int]:
        at, behind = bisect_right(self._ends, start), bisect_right(self._ends, end)
        first = self._ends[at - 1] if at else 0
        return first, self._ends[behind] if behind < len(self._ends) else len(self._said)

    def _behind_colon(self, first: int, start: int) -> int:
        """Returns the place behind the last colon between both, or `first`."""
        at = bisect_right(self._colons, start)
        return max(first, self._colons[at - 1] + 1) if at else first

    def _with_answers(self, first: int, last: int) -> list[tuple[int, int]]:
        """Returns the sentences before and behind one on its line, as far as they are bare answers, of two words at most."""
        found = []
        if first and self._said[first - 1] not in _BREAKS:
            before = self._sentence(first - 1, first - 1)[0]
            if self._is_bare(before, first):
                found.append((before, first))
        if last < len(self._said) and self._said[last - 1] not in _BREAKS:
            behind = self._sentence(last, last)[1]
            if self._is_bare(last, behind):
                found.append((last, behind))
        return found

    def _is_bare(self, first: int, last: int) -> bool:
        return last - first <= _LONGEST_MARGIN and len(self._said[first:last].split()) <= 2

    def _has_other(
        self, label: str, start: int, first: int, last: int, only_there: bool = False, in_any_case: bool = False
    ) -> bool:
        """Returns True if another label, in another letter case or without its brackets, is between `first` and `last`
        or, unless `only_there`, is a long word and on the same line. Beside a label in brackets, a word in another letter
        case is only one if `in_any_case`.
        """
        marked = not in_any_case and not label.strip()[0].isalnum()
        line = bisect_right(self._lines, start)
        begin = self._lines[line - 1] if line else 0
        stop = self._lines[line] if line < len(self._lines) else len(self._said)
        near = range(bisect_left(self._other_starts, begin), bisect_left(self._other_starts, stop))
        return any(
            self._others[at][2] != label
            and not (marked and not self._is_as_written(at))
            and not (label in self._finder.negative and is_of_the_reference(self._said, *self._others[at][:2]))
            and (
                first <= self._others[at][0] < last
                or (not only_there and self._others[at][1] - self._others[at][0] >= _LONG_WORD)
            )
            for at in near[:_MOST_OTHERS]
        )

    def _is_as_written(self, at: int) -> bool:
        """Returns True if another label is in its own letter case."""
        start, end, label = self._others[at]
        return label is not None and within_brackets(label) in self._said[start:end]


_BREAKS = "\r\n\u2028\u2029"
_LINE_ENDS = re.compile(f"[{_BREAKS}]")
_COLONS = re.compile("[:\uff1a]")
_QUESTIONED = re.compile(rf"[{SPACES}\"'\u201d\u2019)\]]{{0,4}}[?\uff1f]")
_RIGHT_AFTER_COLON = re.compile(rf"[:\uff1a][{SPACES}]*\Z")
_UNSAID = re.compile(
    r"(?i:(?:\bnot|n['\u2019]t|\bnever|\bcannot|\bnicht|\bpas|\bno\s(?:es|son|ser\u00eda)|\bn\u00e3o\s\u00e9|\bnon\s\u00e8)"
    r"(?:\s+(?:say|tell|call|conclude|confirm|be)\w*)?[\s\"'*_`]*[:\uff1a])"
)
"""Denies what a colon begins: `not: YES`, `I can't say: YES`."""
_NAME = re.compile(
    rf"{MARKS}{{0,6}}[:=\uff1a\u2014({DASHES}]{MARKS}{{0,6}}[A-Z]{{2,20}}(?:[ _-][A-Z]{{2,20}})?{MARKS}{{0,8}}(?=[.,;!\r\n]|\Z)"
)
"""Name of a label that is one letter, behind it: B: INCORRECT."""
_TICK = re.compile("[\u2705\u2714\u2611\u2713]")
_REASON = re.compile(rf"\s[\u2014{DASHES}]\s|[(:,]|\b(?:because|since|as)\b")
"""Begins a reason that is given for a score."""
_BECAUSE = re.compile(r"(?i:\b(?:because|since)\b)")
_GIVEN = re.compile(rf"(?i:[{SPACES}]{{0,8}}(?:since|because|as|given)\b)")
_BECAUSE_BEHIND = re.compile(
    rf"(?i:[\s\"'*_`)\]]{{0,6}}(?:[:,(\uff1a\uff0c\uff08\u2014]|[{DASHES}]\s|\b(?:because|since|as)\b|(?<=\]\]\s)(?=(?:they|it|the|both)\s))[\s,]{{0,4}}(?:because|since|as)?\b(?!(?:but|though|although|however|yet|or|even|albeit|or\s+rather)\b))"
)
"""Begins a reason right behind a label."""
_THEREFORE = re.compile(
    r"(?i:[,\uff0c\n.]\s{0,4}(?:and\s+)?(?:so|hence|therefore|thus|consequently|accordingly|daher|deshalb|somit|folglich|donc"
    r"|por\s+(?:lo\s+)?tanto)\b|\band\s+(?:(?:is|are)\s+)?(?:so|hence|therefore|thus)\b|(?:[-=]>|[\u2192\u21d2])|\u6240\u4ee5|\u56e0\u6b64|\u56e0\u800c|\u3057\u305f\u304c\u3063\u3066|\u3088\u3063\u3066)"
)
"""Words and signs between a reason and the verdict that follows from it."""
_MOST_OTHERS = 100
"""Largest number of other labels on a line that are looked at: they are unclear long before."""


def _any_in(places: Sequence[int], first: int, last: int) -> bool:
    at = bisect_left(places, first)
    return at < len(places) and places[at] < last


def _between(places: Sequence[int], first: int, last: int) -> Sequence[int]:
    return places[bisect_left(places, first) : bisect_left(places, last)]


def _is_within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Returns True if a place is in one of the spans, which are sorted and do not overlap."""
    at = bisect_right(spans, (place, _FAR)) - 1
    return at >= 0 and place < spans[at][1]


_FAR = 2**62
