"""Tells words about the reference answer from a judge's verdict: judges restate it (`The correct answer is 5`)."""

from __future__ import annotations

import re

from ray_gym.graders.characters import MARKS

_NOUN = (
    r"(?:answer|value|result|solution|option|choice|number|amount|count|sum|total|date|year|day|month|time|name|city|country"
    r"|place|person|author|title|word|term|spelling|sign|unit|formula|expression|equation|conclusion|output|response|figure"
    r"|percentage|ratio|root|letter|one|label|interpretation|reference|key)s?"
)
_NOUN_BEHIND = re.compile(
    rf"(?i:\s(?:\w{{1,12}}\s)?{_NOUN}\b(?P<goes_on>\s*(?:[:=(]|(?:is|was|are|were|being|should|would|has|to|of|for|in|here)\b))?)"
)
_THE_BEFORE = re.compile(r"(?i:\b(?:the|its|their)\s[\"'*_]{0,2}\Z)")
_SAID_OF_THE_ANSWER = re.compile(
    r"(?i:\b(?:response|answer|solution|submission|reply|output|student|candidate|model|assistant|agent|it|this|that|he|she|they)"
    r"\s(?:\w{1,10}ly\s|also\s|indeed\s)?(?:is|was|gives?|gave|has|had|states?|stated|reache[sd]|provide[sd]?|contain(?:s|ed)"
    r"|match(?:es|ed)|equal(?:s|ed)|found|finds|yields?|got|gets|select(?:s|ed)|pick(?:s|ed)|chose|chooses)\s(?:the|an?)\s[\"'*_]{0,2}\Z)"
)
_GIVEN = (
    r"(?:given|got|student|response|submitted|submission|candidate|predict\w+|model|actual|user|assistant|agent|answer)"
)
NAMES_THE_REFERENCE = re.compile(
    rf"(?i:{MARKS}{{0,6}}(?:(?:final|reference|expected)\s)?{_NOUN}{MARKS}{{0,6}}[:=\uff1a]"
    rf"|{MARKS}{{0,6}}[:=\uff1a][^\n:;=]{{1,60}}?[;,.|\n]\s{{0,4}}(?:but\s|and\s|the\s){{0,2}}{_GIVEN}\b[^\n:=]{{0,20}}[:=\uff1a])"
)
"""Words behind a label that make it the title of the reference: CORRECT ANSWER: 12, CORRECT: 12; given: 13."""
NAMED_REFERENCE = re.compile(
    rf"(?i:\b(?:reference|expected|gold(?:en)?|target|(?:ground[\s-])?truth|answer\skey|(?:official|desired|true)(?=\s{_NOUN}))(?:\s{_NOUN})?{MARKS}{{0,6}}[:=]?{MARKS}{{0,6}}\Z)"
)
"""Words before a label that make it the reference's: Reference (CORRECT): 12."""

OF_ITS_FORM = re.compile(
    r"(?i:\b(?:as|although|though|even\sthough|since|because)\s(?:(?:[AB]|it|one|the\sanswer|the\sresponse)\s(?:has|had|gives|names|states|shows|uses)\s"
    r"(?:no|a\sdifferent|another)\s|(?:the\s)?)(?:units?|format|form|notation|spelling|wording|order|labels?|symbols?|signs?\sof\scurrency)\b"
    r"(?!\s(?:\w{1,12}\s)?(?:not\b|wrong|incorrect|differs?)))"
)
"""Begins a clause about the form of an answer, which takes nothing back: although B has no units."""


def is_of_the_reference(said: str, start: int, end: int) -> bool:
    """Returns True if a word such as `correct` describes the reference (`the correct answer is 5`) and not the answer
    that is judged (`it is correct`, `it gives the correct answer`).
    """
    noun = _NOUN_BEHIND.match(said, end)
    if noun is None or _SAID_OF_THE_ANSWER.search(said, max(0, start - 60), start):
        return False
    return noun["goes_on"] is not None or _THE_BEFORE.search(said, max(0, start - 12), start) is not None
