"""Finds a judge's label in its answer. All functions take linear time."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ray_gym.models.thoughts import last_words

_UNSPACED = (
    "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",  # Han
    "\u3041-\u309f",  # Hiragana
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f",  # Katakana
    "\u0e01-\u0e5b",  # Thai
    "\u0e81-\u0edf",  # Lao
    "\u1000-\u109f",  # Burmese
    "\u1780-\u17e9",  # Khmer
)
"""Letters by script, of the scripts that put no space between words: there a word ends where the script changes."""
_SPACES = r"\s*_`~\u00ad\u200b-\u200d\u2060\ufeff"
"""White space and marks of Markdown, for a class of characters."""
_DASHES = "\u2010-\u2013\u2212-"
"""Hyphens, short dashes and a minus, for a class of characters."""
_BETWEEN_WORDS = re.compile(r"(\s+|(?<=[^\W\d])[-_]+(?=[^\W\d]))")
_GAP = rf"[{_SPACES}{_DASHES}]++"
_DEGREE = (
    r"(?:an?|the|fully|entirely|completely|totally|wholly|quite|really|very|strictly|exactly|necessarily|perfectly"
    r"|absolutely|altogether|always|yet|even|at\s+all)"
)
_HEDGE = (
    r"(?:partial(?:ly)?|partly|mostly|largely|mainly|almost|nearly|virtually|practically|essentially|basically|broadly"
    r"|somewhat|slightly|half|halfway|semi|quasi|roughly|approximately|fairly|barely|hardly|scarcely|possibly|perhaps"
    r"|maybe|probably|likely|close\s+to|kind\s+of|sort\s+of|more\s+or\s+less|far\s+from|anything\s+but|less\s+than"
    r"|(?<![\d.,])(?!100)\d{1,3}(?:\.\d{1,3})?\s?(?:%|percent))"
)
_HEDGE_BEHIND = r"(?:in\s+part|in\s+parts|to\s+(?:some|an)\s+extent|ish|for\s+the\s+most\s+part|up\s+to\s+a\s+point)"
_NEGATION = (
    rf"(?i:(?:(?<![^\W_])(?:can)?not|(?<![^\W_])(?:never|non|n?either|nor)|n['\u2019]t){_GAP}(?:{_DEGREE}{_GAP}){{0,2}}"
    rf"|(?<![^\W_])(?:in|un|im|[dm]is|non|half|semi|quasi)[{_DASHES}]+"
    rf"|(?<![^\W_]){_HEDGE}{_GAP}(?:(?:{_DEGREE}|{_HEDGE}){_GAP}){{0,2}})"
)
"""Words and prefixes that make the opposite of the label behind them (NOT CORRECT, isn't fully CORRECT, in-correct), or
less than it (partially CORRECT, 80% CORRECT).
"""
_HEDGED = re.compile(
    rf"(?i:[{_SPACES}\u2014,:({_DASHES}]{{1,5}}(?:{_HEDGE}|{_HEDGE_BEHIND})(?=[{_SPACES}]{{0,3}}(?:[.,;!)\]]|\Z)))"
)
"""Words behind a label that make less than it, and end there: CORRECT (partially), CORRECT in part."""
_SHOWN = rf"[{_SPACES}$]"
_TOP = (
    rf"{_SHOWN}*+(?:(?:points?|pts|stars?|marks?){_SHOWN}*+)?(?:[(,\u2014{_DASHES}]{_SHOWN}*+)?"
    rf"(?:/|out\s++of\s++(?:an?\s++(?:possible|total\s++of|maximum\s++of)\s++)?|of\s++){_SHOWN}*+\d[\d.,]*+"
)
"""Largest number of a scale behind a number, as in 7/10, $7$/$10$, 7 (out of 10) and 7 points out of 10."""
_ON_A_SCALE = rf"(?<![\d.,])\d[\d.,]*+{_TOP}"
_NO_SCORE = r"(?!\s?(?:%|percent\b)|:\d|\+)"
"""Not what makes another number of the one before it: 7%, 7:30, 7+."""
_DENIALS = re.compile(
    r"(?i:(?<![^\W_])(?:"
    r"(?P<answer>(?:no|nope|nah|nein|non|false|wrong|incorrect|falsch|faux|\x66also)(?=[\s\"'*_`)\]]*(?:[,.:;!\u2014-]|\Z)))"
    r"|[a-z]+n['\u2019]t|not|cannot|never|no|none|nothing|nobody|nowhere|nor|n?either|non|without|hardly|barely|scarcely"
    r"|rarely|seldom|unlikely|doubt\w*|un(?:certain|sure|clear|able|true|warranted|justified)|fail(?:s|ed|ing|ures?)?"
    r"|lack(?:s|ed|ing)?|den(?:y|ies|ied)|refut\w+|refus\w+|reject\w*|disagree\w*|dismiss\w*|excluded?|excludes|excluding|ruled\s+out"
    r"|withdr[ae]w\w*|retract\w*|wrong(?:ly)?|false(?:ly)?|incorrect(?:ly)?|invalid|inaccurate|mistaken(?:ly)?|opposite"
    r"|contrary|far\s+from|anything\s+but|instead\s+of|rather\s+than|except|unless|whether|if|maybe|perhaps|possibly|might|may"
    r"|could"
    r"|nicht|nie|niemals|kein\w*|weder|kaum|nein|falsch|zweifel\w*|vielleicht|m\u00f6glicherweise"
    r"|pas|jamais|aucune?|faux|peut-\u00eatre|gu\u00e8re"
    r"|nunca|jam\u00e1s|tampoco|ning\u00fan\w*|\x66also|quiz\u00e1s?|tal\s+vez|dud[ao]\w*"
    r")(?![^\W_]))"
    r"|[\u4e0d\u6ca1\u6c92\u672a\u65e0\u7121\u5426\u52ff\u9519\u932f]|\u975e(?!\u5e38)"  # Chinese
    r"|\u53ef\u80fd|\u6216\u8bb8|\u6216\u8a31|\u4e5f\u8bb8|\u4e5f\u8a31|\u96be\u4ee5|\u96e3\u4ee5"
    r"|\u306a\u3044|\u306a\u304f|\u306a\u304b\u3063|\u307e\u305b\u3093|\u3044\u3044\u3048|\u9055|\u8aa4|\u304b\u3082\u3057\u308c|\u7591"
    r"|[\u00ac\u274c\u2717\u2718\u2716\u274e]|(?<!\w)!(?=\w)|~~(?=\S)"
)
"""Words and signs of negation and doubt: of English, and the common ones of German, French, Spanish, Chinese and
Japanese. The group `answer` has a bare answer to the judge's question (`No.`)."""
_ENDS = re.compile(
    r"[.!?;](?=[\s\"')\]*_`]|\Z)|[\u3002\uff01\uff1f\uff1b]|[\r\n\u2028\u2029]|,(?=\s*\"[^\"\n]{1,40}\"\s*:)"
)
"""Ends of sentences, of lines, and of members of a JSON object."""
_NOT_BEFORE_COLON = re.compile(r"(?i:(?:\bnot|n['\u2019]t|\bnever|\bcannot)[\s\"'*_`]*:)")
_WORDS = re.compile(r"[^\W_]")
_MORE_THAN_A_LABEL = re.compile(r"[^\W_]|[?\uff1f~\u00ac\u274c\u2717\u2718\u2716\u274e]|!(?=\Z)")
_LONGEST_MARGIN = 24
"""Largest number of signs around a label that stands alone on its line."""
_LONG_WORD = 4
"""Least number of letters of a label that counts in another letter case anywhere on a line: shorter ones are words."""


def clear_label(text: str, labels: Iterable[str]) -> str | None:
    """Returns the one label in a text; None if there is none, or if there are different ones, or one with a `not` or a
    word such as `partially`.
    """
    found = set(_labels_in(text, labels))
    return found.pop() if len(found) == 1 else None


def last_label(text: str, labels: Iterable[str]) -> str | None:
    """Returns the label that comes last in a text; None if there is none, or if it has a `not` or a word such as
    `partially`.
    """
    found = list(_labels_in(text, labels))
    return found[-1] if found else None


def _labels_in(text: str, labels: Iterable[str]) -> Iterator[str | None]:
    """Yields the labels after the last thought in a text, in order: not those in longer words or numbers, and None for
    one that is doubtful: with a `not` before it, a word that makes less of it beside it, or a word of negation or doubt
    or another label in its sentence (`_Doubts`). Of two at the same place, the longer counts.
    """
    finder, said = _finder(tuple(labels)), last_words(text)
    matches = list(finder.anything.finditer(said)) if finder.labels else []
    doubts = _Doubts(said, finder, [found.span() for found in matches if found.lastgroup is not None])
    for found in matches:
        if found.lastgroup == "negated" or (found.lastgroup is not None and _HEDGED.match(said, found.end())):
            yield None
        elif found.lastgroup is not None and finder.exactly.search(found[0]):  # else it is one in another letter case
            label = finder.labels[int(found.lastgroup.removeprefix("label"))]
            yield None if doubts.of(label, found.start(), found.end()) else label


class _Doubts:
    """Finds what makes a label doubtful: words of negation and doubt, and other labels, in the sentences of a text.

    Those words count wherever they are in the label's sentence, and in a bare answer next to it (`No. YES`, `YES? No.`):
    which of them belongs to the label is not guessed, for a judge can be asked again. A label that has its line for
    itself is never doubtful.
    """

    def __init__(self, said: str, finder: _Finder, spans: Sequence[tuple[int, int]]) -> None:
        self._said, self._finder = said, finder
        self._ends = [found.end() for found in _ENDS.finditer(said)]
        self._lines = [found.start() for found in _LINE_ENDS.finditer(said)]
        self._colons = [found.start() for found in _COLONS.finditer(said)]
        exact = {end for _, end in spans}
        self._others = [
            (found.start(), found.end(), finder.named(found[0]))
            for found in (finder.others.finditer(said) if finder.others else ())
            if found.end() not in exact
        ]
        taken = sorted([*spans, *((start, end) for start, end, _ in self._others)])
        denials = [found for found in _DENIALS.finditer(said) if not _is_within(found.start(), taken)]
        self._answers = [found.start() for found in denials if found["answer"]]
        self._denials = [found.start() for found in denials if not found["answer"]]
        self._other_starts = [start for start, _, _ in self._others]

    def of(self, label: str, start: int, end: int) -> bool:
        """Returns True if a label at this place is doubtful."""
        if self._is_alone(start, end):
            return False
        if _QUESTIONED.match(self._said, end):
            return True
        first, last = self._sentence(start, end)
        if label in self._finder.negative:
            first, before = self._behind_colon(first, start), first
            if first > before and _NOT_BEFORE_COLON.search(self._said, max(before, first - 12), first):
                return True
            agrees = _any_in(self._denials, before, first)  # what stands there is denied, as this label does
            return _any_in(self._denials, first, last) or self._has_other(label, start, first, last, agrees)
        if not label.strip()[0].isalnum() and (
            colon := _RIGHT_AFTER_COLON.search(self._said, max(first, start - 6), start)
        ):
            if _UNSAID.search(self._said, max(first, colon.start() - 24), colon.start() + 1):
                return True
            first = colon.end()  # `I found nothing wrong: [[YES]]` tells its reason, and then the verdict
        if label.strip()[-1:].isdigit():  # what follows a score tells why it is not more
            why = _REASON.search(self._said, end, min(last, end + 200))
            last = why.start() if why else last
            denied = _any_in(self._denials, first, last) or _any_in(self._answers, first, last)
            return denied or self._has_other(label, start, first, last)
        wide = self._with_answers(first, last)
        if _any_in(self._denials, first, last) or any(_any_in(self._answers, *part) for part in ((first, last), *wide)):
            return True
        return self._has_other(label, start, first, last) or any(self._has_other(label, start, *part) for part in wide)

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

    def _has_other(self, label: str, start: int, first: int, last: int, only_there: bool = False) -> bool:
        """Returns True if another label, in another letter case or without its brackets, is between `first` and `last`
        or, unless `only_there`, is a long word and on the same line.
        """
        line = bisect_right(self._lines, start)
        begin = self._lines[line - 1] if line else 0
        stop = self._lines[line] if line < len(self._lines) else len(self._said)
        near = range(bisect_left(self._other_starts, begin), bisect_left(self._other_starts, stop))
        return any(
            self._others[at][2] != label
            and (
                first <= self._others[at][0] < last
                or (not only_there and self._others[at][1] - self._others[at][0] >= _LONG_WORD)
            )
            for at in near[:_MOST_OTHERS]
        )


_BREAKS = "\r\n\u2028\u2029"
_LINE_ENDS = re.compile(f"[{_BREAKS}]")
_COLONS = re.compile("[:\uff1a]")
_QUESTIONED = re.compile(rf"[{_SPACES}\"'\u201d\u2019)\]]{{0,4}}[?\uff1f]")
_RIGHT_AFTER_COLON = re.compile(rf"[:\uff1a][{_SPACES}]*\Z")
_UNSAID = re.compile(
    r"(?i:(?:\bnot|n['\u2019]t|\bnever|\bcannot)(?:\s+(?:say|tell|call|conclude|confirm)\w*)?[\s\"'*_`]*[:\uff1a])"
)
"""Denies what a colon begins: `not: YES`, `I can't say: YES`."""
_REASON = re.compile(rf"\s[\u2014{_DASHES}]\s|[(:,]|\b(?:because|since|as)\b")
"""Begins a reason that is given for a score."""
_MOST_OTHERS = 100
"""Largest number of other labels on a line that are looked at: they are unclear long before."""


def _any_in(places: Sequence[int], first: int, last: int) -> bool:
    at = bisect_left(places, first)
    return at < len(places) and places[at] < last


def _is_within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Returns True if a place is in one of the spans, which are sorted and do not overlap."""
    at = bisect_right(spans, (place, _FAR)) - 1
    return at >= 0 and place < spans[at][1]


_FAR = 2**62


class _Finder(NamedTuple):
    """A finder holds the regular expressions that find labels."""

    labels: Sequence[str]
    """Labels, of which the longest is first. The group `label0` of `anything` has the first."""
    anything: re.Pattern[str]
    """Labels, those of several words in any letter case; labels with a `not` or `partially` before them (the group `negated`); and
    numbers on a scale that are no label (no group)."""
    exactly: re.Pattern[str]
    """Labels in their own letter case."""
    others: re.Pattern[str] | None
    """Labels in any letter case, and those in brackets also without them; None if there are none of two letters."""
    bare: Mapping[str, str]
    """Labels by their texts in lower case, with and without brackets."""
    negative: frozenset[str]
    """Labels that deny (NO, INCORRECT beside CORRECT, A!=B): what denies before their colon agrees with them."""

    def named(self, text: str) -> str | None:
        """Returns the label that a text in another letter case spells."""
        return self.bare.get(text.lower())


@lru_cache(maxsize=64)
def _finder(labels: Sequence[str]) -> _Finder:
    """Returns what finds these labels. A label of several words that is written in another letter case, and so has a
    shorter one within it, is found as the longer (`Not SUPPORTED`).
    """
    ordered = sorted(labels, key=len, reverse=True)
    exact = [_pattern_of(label) for label in ordered]
    exactly = "|".join(exact)
    both = zip(ordered, exact, strict=True)
    groups = [f"(?P<label{number}>{_in_any_case(label, one)})" for number, (label, one) in enumerate(both)]
    scale = [_ON_A_SCALE] if any(label.strip()[0].isdigit() for label in ordered) else []
    first = re.escape("".join({label.strip()[0] for label in ordered}))
    parts = "|".join([*groups, rf"(?P<negated>{_NEGATION}(?:{exactly}))", *scale])
    anything = rf"(?=(?i:[{first}\dncuidmhsqpavberfklt]))(?:{parts})"  # what all begin with comes first: it is faster
    bare = {inner.lower(): label for label in ordered for inner in {label.strip(), _within_brackets(label)}}
    wordy = [inner for inner in sorted(bare, key=len, reverse=True) if sum(map(str.isalpha, inner)) > 1]
    others = re.compile(f"(?i:{'|'.join(map(_pattern_of, wordy))})") if wordy else None
    negative = frozenset(label for label in ordered if _denies(label, ordered))
    return _Finder(ordered, re.compile(anything), re.compile(exactly), others, bare, negative)


def _within_brackets(label: str) -> str:
    return label.strip().strip("[](){}<>\"'*`") or label.strip()


def _denies(label: str, labels: Sequence[str]) -> bool:
    """Returns True if a label has a word of negation, or is another label with something before it (INCORRECT)."""
    bare = _within_brackets(label).lower()
    if "!=" in bare or "\u2260" in bare or _DENIALS.search(bare):
        return True
    return any(bare != inner and bare.endswith(inner) for inner in (_within_brackets(one).lower() for one in labels))


def _in_any_case(label: str, pattern: str) -> str:
    return f"(?i:{pattern})" if _BETWEEN_WORDS.search(label) else pattern


def _pattern_of(label: str) -> str:
    """Returns a regular expression of a label that is no part of a longer word or number."""
    bare = label.strip()
    return f"{_not_after(bare[:1])}{spaced(bare)}{_not_before(bare[-1:])}"


def spaced(label: str) -> str:
    """Returns a regular expression of a label in which white space, marks of Markdown and hyphens between words count
    as one space.
    """
    parts = _BETWEEN_WORDS.split(label)
    return "".join(_gap(parts, number) if number % 2 else re.escape(part) for number, part in enumerate(parts))


def _gap(parts: Sequence[str], number: int) -> str:
    """Returns a regular expression of what may be between two words of a label. Hyphens may be between letters only:
    elsewhere one may be the sign of a number.
    """
    before, after = parts[number - 1][-1:], parts[number + 1][:1]
    return _GAP if before.isalpha() and after.isalpha() else f"[{_SPACES}]++"


def _not_after(first: str) -> str:
    """Returns a regular expression of what may not be before a label's first character: the same word or number.
    Markdown's underscores may be (`__YES__`).
    """
    word = _of_one_word(first)
    if not word:
        return ""
    number = rf"(?<!\d[.,])(?<![^\w.]\.)(?<!^\.)(?:(?<![{_DASHES}])|(?<=\w[{_DASHES}]))" if first.isdigit() else ""
    return rf"(?<!{word})(?<!{word}_)(?<!{word}__){number}"


def _not_before(last: str) -> str:
    """Returns a regular expression of what may not be after a label's last character: the same word or number. The
    scale of a number is a part of it.
    """
    word = _of_one_word(last)
    if not word:
        return ""
    return rf"(?!_{{0,2}}{word})" + (rf"(?![.,]\d){_NO_SCORE}(?:{_TOP})?" if last.isdigit() else "")


def _of_one_word(letter: str) -> str:
    """Returns a regular expression of the letters that are one word with a letter beside them; "" for no letter."""
    if not re.match(r"\w", letter):
        return ""
    script = next((script for script in _UNSPACED if re.match(f"[{script}]", letter)), None)
    return f"[{script}]" if script else rf"[^\W_{''.join(_UNSPACED)}]"
