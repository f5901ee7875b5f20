"""Finds the value that an author gives behind an answer in its place: `Answer: 15` below a box, `Wait, it's 13.`"""

from __future__ import annotations

import re

from ray_gym.graders.denials import NOT, is_called_wrong, is_denied_below, is_disowned
from ray_gym.graders.retractions import RETRACTION

_MARKS = r"[\s*_`#>:\uff1a(]{0,9}"
_NUMBER = r"[-+\u2212]?\s?(?:\\?[$\u20ac\u00a3]\s?)?(?:\d(?:[\d.,/:^]{0,40}\d)?|\.\d{1,40})(?:\\?%)?"
_VALUE = (
    rf"{_MARKS}(?:[A-Za-z]\s?=\s?)?(?P<value>\$\$?[^$\n]{{1,200}}\$\$?|\\\([^\n]{{1,200}}?\\\)|\\\[.{{1,200}}?\\\]|{_NUMBER}"
    r"(?: (?!(?:not|because|since|as)\b)[A-Za-z\u00b0%/]{1,15}){0,2})"
    r"(?=[\s*_`)]{0,6}(?:[,;!?\u3002\uff0c\uff1f]|\.(?!\d)|\n|\Z)|[\s*_`)]{1,6}(?:and\s)?(?:not|because|since|as|rather|instead)\b"
    r"|[\u4e00-\u9fff\u3040-\u30ff])"
)
"""Number or formula that ends its clause, with a unit of at most two words."""
_IS = r"(?:['\u2019]s|\s(?:is|was|equals|(?:should|must|has\sto)\s(?:actually\s)?be)\b|\s?=)"
_OF_THE_TASK = r"(?:\s(?:here|then|now|to\s(?:the|this)\s(?:\w{1,12}\s)?(?:question|problem)))?"
_RIGHT_VALUE = r"(?:correct(?:ed)?|right)\s(?:value|result|number|total|sum|count|solution|figure)"
_ANNOUNCED = re.compile(
    rf"(?is:(?:(?<![^\W_])(?:answer|{_RIGHT_VALUE}){_OF_THE_TASK}"
    rf"(?:{_IS}(?:\s(?:actually|therefore|thus|then|just|simply))?|(?=[*_` ]{{0,6}}[:\uff1a\n]))"
    rf"|(?:\u7b54\u6848|\u7b54\u3048)[*\s]{{0,4}}[\u662f\u4e3a\u70ba\u306f\uff1a:]){_VALUE})"
)
_CLAIMED = re.compile(
    rf"(?is:\b(?:(?:it|that|this|the\s(?:result|value|total|sum|number)){_IS}|I\smeant(?:\sto\s\w{{3,5}})?){_VALUE})"
)
_RIGHT_BEHIND = re.compile(rf"(?is:[\s,.:;!\u2014-]{{1,6}}{_VALUE})")
_SCORE = r"[\s$*_(]{0,4}[-+]?(?:\d[\d./]{0,9}\s?(?:points?|pts?|marks?)\b|(?P<points>\d{1,4})/(?P=points)(?!\d))"
_CHANGED = re.compile(
    r"(?is:[\s}$*_)\\\]]{0,9}(?:--?>|[\u2192\u27f6]|\\(?:to|(?:long)?rightarrow)(?![a-z]))(?![\s$*_]{0,4}[a-z]\s?=)"
    rf"(?!{_SCORE}){_VALUE})"
)
"""Another value of the same, and no score, to which an arrow right behind an answer leads."""
_SUPPOSED = re.compile(
    r"\b(?:if|unless|had|suppose|assuming|without|(?<!made a )(?<!my )mistakes?|pitfalls?|misconceptions?|may|might"
    r"|other\s(?:question|problem|part))\b[^.;!?\n]{0,200}\Z",
    re.IGNORECASE,
)
_CHECKS = re.compile(r"check|verif|double", re.IGNORECASE)
"""Part of words behind which an answer is checked, and not yet taken back."""
_IN_A_LIST = re.compile(r"[\s*_`)]{0,6}(?:[,;]|\band\b)\s{0,3}(?:[A-Za-z]\s?=\s?)?[-+(\[$\\\d]")
"""Text behind the first value of several: (3, 4)."""
_HELD = re.compile(
    r"(?i:\b(?:correct|right|confirm\w*|match\w*|consistent|holds|works|as\s(?:required|expected|given)|stands|check\w*)\b|[\u2713\u2714\u2705])"
)
"""Words by which a value turns out to be a check of the answer."""
_AROUND = " $*_`\\()[]"
_MOST = 20_000
"""Number of characters at the end of an answer that are read."""


def replacement(answer: str | None, behind: str) -> str | None:
    """Returns the last value that is given behind an answer as another one: behind `answer is`, or behind words that take
    something back; None if there is none, or the answer comes again behind it.

    `answer`: None if it is one that `behind` announces itself, whose last announcement then counts.
    """
    behind = behind[-_MOST:]
    given = _announced(behind)
    begin = 0 if answer is not None else given[-1].end() if given else len(behind)
    given = [found for found in given if not _is_asked(behind, found)]
    last = given[-1] if given and answer is not None else None
    claims = _claims(behind, begin)
    changed = _CHANGED.match(behind) if answer is not None else None
    last = max(filter(None, [*claims, last, changed]), key=lambda one: one.start("value"), default=None)
    if last is None or (answer is not None and _comes_in(answer, last["value"])):
        return None
    return None if answer is not None and _is_said_again(answer, behind[last.end("value") :]) else last["value"]


def is_denied_answer(text: str) -> bool:
    """Says whether the last value behind `answer is` in a text is called wrong right behind it."""
    text = text[-_MOST:]
    given = _announced(text)
    answer, behind = (given[-1]["value"], text[given[-1].end("value") :]) if given else ("", "")
    return is_called_wrong(behind.partition("\n")[0], answer) or is_denied_below(behind, answer)


def _claims(text: str, begin: int) -> list[re.Match[str]]:
    """Returns the values behind the first words that take something back, of which no check of the answer is made."""
    back = [found for found in RETRACTION.finditer(text, begin) if not _CHECKS.search(found[0])]
    if not back:
        return []
    held = max((found.start() for found in _HELD.finditer(text, begin)), default=-1)
    found = [*(_RIGHT_BEHIND.match(text, one.end()) for one in back), *_CLAIMED.finditer(text, back[0].start())]
    late = [one for one in found if one is not None and one.end() > held]
    return [one for one in late if _is_whole(text, one) and is_own(text, one.start()) and not _is_asked(text, one)]


def _announced(text: str) -> list[re.Match[str]]:
    return [found for found in _ANNOUNCED.finditer(text) if _is_whole(text, found) and is_own(text, found.start())]


def _is_whole(text: str, value: re.Match[str]) -> bool:
    """Says whether a value is not the first of several, of which no more is read."""
    return _IN_A_LIST.match(text, value.end("value")) is None


def is_own(text: str, place: int) -> bool:
    """Says whether the words before a place neither disown the answer there nor suppose it."""
    return not is_disowned(text, place) and not _SUPPOSED.search(text, max(0, place - 200), place)


def _is_asked(text: str, value: re.Match[str]) -> bool:
    return re.match(r"[\s*_`)]{0,6}[?\uff1f]", text[value.end() :][:8]) is not None


def _comes_in(answer: str, value: str) -> bool:
    """Says whether a value is an answer, whatever marks are around it."""
    return answer.strip(_AROUND) == value.strip(_AROUND)


def _is_said_again(answer: str, text: str) -> bool:
    for found in re.finditer(rf"(?<![\w.,-]){re.escape(answer.strip())}(?![\w]|[.,]\d)", text):
        if not re.search(rf"{NOT}[\s$*_\\(]{{0,9}}\Z", text[max(0, found.start() - 30) : found.start()], re.IGNORECASE):
            return True
    return False
