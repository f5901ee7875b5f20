"""Finds what an author gives as the answer behind a letter, in its place: `Wait, it is C.`, `Answer: C`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ray_gym.graders.replaced import is_own
from ray_gym.graders.retractions import RETRACTION

_MOST = 20_000
"""Number of characters at the end of an answer that are read."""
_CLAUSE = re.compile(r"[^.,;!?\n\u3002\uff0c\uff1f]+(?:[.,](?=\d)[^.,;!?\n\u3002\uff0c\uff1f]*)*[?\uff1f]?")
_IS = r"(?:['\u2019]s|\s(?:is|was|(?:should|must|has\sto)\s(?:actually\s)?be)\b)(?:\s(?:actually|therefore|thus|then|just|simply)\b)?"
_ANNOUNCED = re.compile(
    rf"(?i:(?<![^\W_])(?:answer|option|choice)(?:\s(?:here|then|now|to\s(?:the|this)\s(?:\w{{1,12}}\s)?(?:question|problem)))?"
    rf"(?:{_IS}|[*_` ]{{0,6}}[:\uff1a]))|(?:\u7b54\u6848|\u7b54\u3048)[*\s]{{0,4}}[\u662f\u4e3a\u70ba\u306f\uff1a:]"
)
_CLAIMED = re.compile(
    rf"(?i:\b(?:it|that|this){_IS})|[:\uff1a](?=\s)|(?i:(?<![^\W_])(?:actually|however|but|so|wait|no)\s(?=\S))"
)
_HOWEVER = re.compile(r"(?i:(?:\A|[.!?;\n])[\s*_\"'(]{0,6}(?:however|but)\b)")
_NAMES_A_LETTER = re.compile(r"(?:(?i:the\s)?(?i:option|choice|letter|answer)\s)?[*_$`(\[]{0,4}[A-Z](?![\w'\u2019])")
_REASON = re.compile(r"\s(?:because|since|as|not|instead|rather)\b")


def answers_behind(behind: str) -> Iterator[str]:
    """Yields what is given as the answer behind one, in order: behind `answer is`, and behind words that take something
    back (`Wait, it is C`, `However, C is right`) what begins with a letter. Questions, suppositions and answers of others
    are none.
    """
    text = behind[-_MOST:]
    turn = min((found.start() for one in (RETRACTION, _HOWEVER) if (found := one.search(text))), default=len(text))
    for clause in _CLAUSE.finditer(text):
        said = clause[0]
        if said[-1] in "?\uff1f":
            continue
        announced = list(_ANNOUNCED.finditer(said))[-1:]
        lead = announced or (list(_CLAIMED.finditer(said))[-1:] if clause.start() >= turn else [])
        value = _REASON.split(said[lead[0].end() if lead else 0 :], maxsplit=1)[0].strip(" \t\r*_`#>")
        is_given = announced or (clause.end() > turn and _NAMES_A_LETTER.match(value))
        if is_given and is_own(text, clause.start() + (lead[0].start() if lead else 0)):
            yield value
