"""Makes the regular expressions that find a judge's labels in its answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ray_gym.graders.characters import DASHES, GAP, SPACES, UNSPACED
from ray_gym.graders.hedges import DENIALS, NEGATION, UNTICKED, UNTICKED_BEHIND, is_opposite

OF = "(?:of|von|sur|su|de|av|\u0438\u0437)"
"""Words for `of` between a score and the largest one, in some languages."""
POINTS = r"(?i:points?|pts|stars?|marks?|punkten?|puntos|punti|pontos|\u0431\u0430\u043b\u043b[\u0430-\u044f]{0,3})"
_BETWEEN_WORDS = re.compile(r"(\s+|(?<=[^\W\d])[-_]+(?=[^\W\d]))")
_SHOWN = rf"[{SPACES}$]"
_TOP = (
    rf"{_SHOWN}*+(?:{POINTS}{_SHOWN}*+)?(?:[(,\u2014{DASHES}]{_SHOWN}*+)?"
    rf"(?:/|out\s++of\s++(?:an?\s++(?:possible|total\s++of|maximum\s++of)\s++)?|{OF}\s++){_SHOWN}*+\d++(?:[.,]\d++)*+"
)
"""Largest number of a scale behind a number, as in 7/10, $7$/$10$, 7 (out of 10) and 7 points out of 10."""
_ON_A_SCALE = rf"(?<![\d.,])\d[\d.,]*+{_TOP}"
_AT_COLON = f"[{SPACES}]*+"
"""White space and marks of Markdown around the colon of a label: GRADE:C and **GRADE**: C for GRADE: C."""
_NO_SCORE = r"(?!\s?(?:%|percent\b)|:\d|\+|\s?(?:\u00bd|(?:and|&)\sa\shalf\b))"
"""Not what makes another number of the one before it: 7%, 7:30, 7+, 7 and a half."""
_NO_GRADE = rf"(?![+\u2795{DASHES}](?![\w>\u2795{DASHES}]))"
"""Not what makes another grade of the letter before it: A-, B+."""
_POINTS = r"(?:\uc810[\uac00-\ud7a3]{0,4})?"
"""Korean for points, which is in one piece with its number."""

_SIGNS = re.compile(r"(?<=\w)[!<>=]+(?=\w)")
_SIGNS_AS: Mapping[str, str] = {"=": "={1,2}", "!=": "(?:!={1,2}|\u2260)"}
"""Signs of a label between its words, and regular expressions of how some are written, too."""
_FEW_SPACES = r"[ \t]{0,4}"

_FEW = 3
"""Largest number of labels of which a number may name an answer: of more, it is a score."""

_LETTER = "[A-Za-z\u00c0-\u024f\u0370-\u052f]"
_MARK = "[*`\u00ad\u200b-\u200d\u2060\ufeff]"
_TAG = "</?(?:b|i|u|em|strong|span|mark|font|small|big|code)>"
_IN_WORDS = re.compile(rf"(?<={_LETTER})(?:{_MARK}|{_TAG})++(?={_LETTER})")
"""Marks of Markdown and HTML within a word."""


class Finder(NamedTuple):
    """A finder holds the regular expressions that find labels."""

    labels: Sequence[str]
    """Labels, of which the longest is first. The group `label0` of `anything` has the first."""
    anything: re.Pattern[str]
    """Labels, those of several words in any letter case; labels with a `not` or `partially` before them (the group `negated`); and
    numbers on a scale that are no label (no group)."""
    exactly: re.Pattern[str]
    """Labels in their own letter case."""
    unticked: re.Pattern[str]
    """Labels with an empty box before them, or alone behind them: they are not chosen."""
    others: re.Pattern[str] | None
    """Labels in any letter case, and those in brackets also without them; None if there are none of two letters."""
    bare: Mapping[str, str]
    """Labels by their texts in lower case, with and without brackets."""
    negative: frozenset[str]
    """Labels that deny (NO, INCORRECT beside CORRECT, A!=B, FAIL beside PASS): a reason with a denial agrees with them."""
    positive: frozenset[str]
    """Labels that are not, beside one that does, and neither scores nor names of answers."""
    names: frozenset[str]
    """Labels that name one of the answers that are compared: A, [[B]], Response 1; a number only of three labels at most."""

    def named(self, text: str) -> str | None:
        """Returns the label that a text in another letter case spells."""
        return self.bare.get(text.lower())

    def without_marks_in_words(self, said: str) -> str:
        """Returns a text with its words in one piece, so that `**IN**CORRECT` is INCORRECT. Marks between two words of a
        label stay.
        """
        apart = {parts for label in self.labels for parts in pairwise(_BETWEEN_WORDS.split(label.strip().lower())[::2])}

        def parted(found: re.Match[str]) -> str:
            start, end = found.span()
            is_gap = any(
                said[max(0, start - len(one)) : start].lower() == one and said[end : end + len(other)].lower() == other
                for one, other in apart
            )
            return found[0] if is_gap else ""

        return _IN_WORDS.sub(parted, said)


@lru_cache(maxsize=64)
def finder_of(labels: Sequence[str]) -> Finder:
    """Returns what finds these labels. A label of several words that is written in another letter case, and so has a
    shorter one within it, is found as the longer (`Not SUPPORTED`).
    """
    ordered = sorted(labels, key=len, reverse=True)
    exact = [pattern_of(label) for label in ordered]
    exactly = "|".join(exact)
    both = zip(ordered, exact, strict=True)
    groups = [f"(?P<label{number}>{_in_any_case(label, one)})" for number, (label, one) in enumerate(both)]
    scale = [_ON_A_SCALE] if any(label.strip()[0].isdigit() for label in ordered) else []
    first = re.escape("".join({label.strip()[0] for label in ordered}))
    parts = "|".join([*groups, rf"(?P<negated>{NEGATION}(?:{exactly}))", *scale])
    anything = rf"(?=(?i:[{first}\\\dncuidmhsqpavberfklt]))(?:{parts})"  # what all begin with comes first: it is faster
    bare = {inner.lower(): label for label in ordered for inner in {label.strip(), within_brackets(label)}}
    wordy = [inner for inner in sorted(bare, key=len, reverse=True) if sum(map(str.isalpha, inner)) > 1]
    others = re.compile(f"(?i:{'|'.join(map(pattern_of, wordy))})") if wordy else None
    negative = frozenset(label for label in ordered if _denies(label, ordered))
    names = frozenset(label for label in ordered if _names_an_answer(label, len(ordered)))
    rest = (label for label in ordered if not within_brackets(label)[-1:].isdigit()) if negative else ()
    positive = frozenset(rest) - negative - names
    texts = "|".join(spaced(label.strip()) for label in ordered)
    unticked = re.compile(rf"(?i:{UNTICKED}(?:{texts})(?![^\W_]))|(?<![^\W_])(?:{texts}){UNTICKED_BEHIND}")
    return Finder(ordered, re.compile(anything), re.compile(exactly), unticked, others, bare, negative, positive, names)


def within_brackets(label: str) -> str:
    return label.strip().strip("[](){}<>\"'*`") or label.strip()


def _names_an_answer(label: str, of: int) -> bool:
    kind = r"[A-Za-z]|\d" if of <= _FEW else "[A-Za-z]"
    return re.fullmatch(rf"(?:\w{{2,12}}[\s_-])?(?![FNTYfnty]\Z)(?:{kind})", within_brackets(label)) is not None


def _denies(label: str, labels: Sequence[str]) -> bool:
    """Returns True if a label has a word of negation, is the opposite of another label (FAIL beside PASS), or another
    label with something before it (INCORRECT).
    """
    bare = within_brackets(label).lower()
    if "!=" in bare or "\u2260" in bare or DENIALS.search(bare):
        return True
    others = [within_brackets(one).lower() for one in labels]
    return is_opposite(bare, others) or any(bare != inner and bare.endswith(inner) for inner in others)


def _in_any_case(label: str, pattern: str) -> str:
    return f"(?i:{pattern})" if _BETWEEN_WORDS.search(label) else pattern


def pattern_of(label: str) -> str:
    """Returns a regular expression of a label that is no part of a longer word or number."""
    bare = label.strip()
    grade = _NO_GRADE if len(bare) == 1 and bare.isalpha() else ""
    return f"{_not_after(bare[:1])}{spaced(bare)}{_not_before(bare[-1:])}{grade}"


def spaced(label: str) -> str:
    r"""Returns a regular expression of a label in which white space, marks of Markdown and hyphens between words count
    as one space, also of `[[ YES ]]` and Markdown's `\[\[YES\]\]`. In double brackets, signs may have spaces around them,
    and an equals sign may be two: `[[A = B]]`, `[[A==B]]`.
    """
    parts = _BETWEEN_WORDS.split(label)
    written = "".join((_gap if number % 2 else _words)(parts, number) for number in range(len(parts)))
    if label.startswith("[["):
        written = _SIGNS.sub(lambda sign: f"{_FEW_SPACES}{_SIGNS_AS.get(sign[0], sign[0])}{_FEW_SPACES}", written)
    written = written.replace(r"\[\[", rf"\\?\[\\?\[{_FEW_SPACES}")
    return written.replace(r"\]\]", rf"{_FEW_SPACES}\\?\]\\?\]")


def _words(parts: Sequence[str], number: int) -> str:
    """Returns a regular expression of a word of a label, with what may be before a colon at its end if more follows."""
    word = parts[number]
    has_colon = word.endswith(":") and number < len(parts) - 1
    return f"{re.escape(word[:-1])}{_AT_COLON}[:\uff1a]" if has_colon else re.escape(word)


def _gap(parts: Sequence[str], number: int) -> str:
    """Returns a regular expression of what may be between two words of a label. Hyphens may be between letters only:
    elsewhere one may be the sign of a number.
    """
    before, after = parts[number - 1][-1:], parts[number + 1][:1]
    if before == ":":
        return _AT_COLON
    return GAP if before.isalpha() and after.isalpha() else f"[{SPACES}]++"


def _not_after(first: str) -> str:
    """Returns a regular expression of what may not be before a label's first character: the same word or number.
    Markdown's underscores may be (`__YES__`).
    """
    word = _of_one_word(first)
    if not word:
        return ""
    number = rf"(?<!\d[.,:])(?<![^\w.]\.)(?<!^\.)(?:(?<![{DASHES}])|(?<=\w[{DASHES}]))" if first.isdigit() else ""
    return rf"(?<!{word})(?<!{word}_)(?<!{word}__){number}"


def _not_before(last: str) -> str:
    """Returns a regular expression of what may not be after a label's last character: the same word or number. The
    scale of a number is a part of it, and so are zeros (4.0).
    """
    word = _of_one_word(last)
    if not word:
        return ""
    if not last.isdigit():
        return rf"(?!_{{0,2}}{word})"
    return rf"(?!_{{0,2}}(?!\uc810){word})(?:\.0{{1,3}}(?!\d))?{_POINTS}(?![.,]\d){_NO_SCORE}(?:{_TOP}{_POINTS})?"


def _of_one_word(letter: str) -> str:
    """Returns a regular expression of the letters that are one word with a letter beside them; "" for no letter."""
    if not re.match(r"\w", letter):
        return ""
    script = next((script for script in UNSPACED if re.match(f"[{script}]", letter)), None)
    kind = f"[{script}]" if script else rf"[^\W_{''.join(UNSPACED)}]"
    return f"(?-i:{kind})"  # without case, it compiles three times as fast
