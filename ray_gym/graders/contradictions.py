"""Finds sentences behind a label that say the contrary: `The reasoning is CORRECT. The final answer is wrong.`"""

from __future__ import annotations

import re

_IS = r"(?:is|are|was|were)"
_NOT = r"(?:n['\u2019]t|\snot)"
_NOTE = r"(?:note\sthat\s|(?:note|nb|caveat|comment|remark|warning)[\s*_]{0,3}:[\s*_]{1,4})"
_BUT_WRONG = re.compile(
    rf"(?i:(?:\A|[.!;\n]|(?<=\]\])\s)[\s*_\"')]{{0,6}}{_NOTE}?(?:(?:but|however|yet|still|though|and|in\sfact)\b,?\s){{0,2}}"
    r"(?:(?:it|they|(?:the|that|this|its|their|his|her)\s(?!other|second|alternative|remaining)"
    r"(?:(?!other|alternative)[\w'\u2019]{1,20}\s){0,2}"
    r"(?:answers?|values?|results?|conclusions?|numbers?|outputs?|solutions?|responses?|totals?|sums?|units?|signs?"
    r"|proofs?|code|statements?|claims?|programs?|scripts?|builds?|compilation|execution|functions?"
    r"|implementation|submission))"
    r"(?:\s(?:still\s|also\s)?(?:fail(?:s|ed)?|crash(?:es|ed)|hangs?|hung|timed\sout|times\sout)"
    r"(?!\s(?:no|none|nothing|to|as\s(?:expected|intended|required)|gracefully|safely|correctly|properly)\b)"
    r"(?![^\W_])"
    rf"|\s{_IS}(?:\s\w{{1,12}}ly|\sstill)?\s(?:wrong|incorrect|false|inaccurate|invalid|mistaken|unequal|(?<=s\sare\s)different(?!\s(?:only|in|ways?|forms?"
    rf"|representations?|notations?|spellings?|wordings?)\b))(?![^\W_])"
    rf"|\s{_IS}{_NOT}(?=[\s*_\"')]{{0,6}}(?:[.!;\n]|\Z)|\s(?:\w{{1,12}}\s)?(?:correct|right|true|accurate|valid|equal|equivalent|same)\b)"
    rf"|\s(?:does|do|did){_NOT}\s(?:match|agree|equal|follow|hold|correspond|fit)(?![^\W_]))))"
)
_PART = re.compile(
    r"(?i:\b(?:reasoning|format(?:ting)?|methods?|methodology|approach|logic|steps?|set-?up|workings?|derivation|calculations?"
    r"|computations?|arithmetic|algebra|structure|grammar|style|syntax|formula|equation|spelling|idea|strategy|explanation"
    r"|argument|premises?|citations?|part|half|units?|sign)\s(?:is|are|was|were)\s(?:\w{1,12}ly\s)?[\s*_\"'\[(]{0,6}\Z"
    r"|(?<![^\n])[\s*_]{0,6}\(?[a-h]\)[\s*_\"'\[(]{0,6}\Z)"
)
_WRONG_BEFORE = re.compile(
    r"(?i:(?<!other\s)(?<!neither\s)(?<!no\s)\b(?:answer|response|solution|submission)(?:\s(?:is|was))?\s(?:wrong|incorrect)[\s*_\"')]{0,4}[.!\n][\s*_#]{0,9}"
    r"(?:[\w ]{1,20}[:=][\s*_]{0,6})?\Z)"
)
"""A sentence right before a label, or its title, that calls the answer wrong."""
_LONGEST = 400
"""Largest number of characters behind a label that are looked at."""


def is_said_of_a_part(said: str, first: int, start: int) -> bool:
    """Returns True if a label's sentence, from `first`, is about a part of what is judged: The reasoning is CORRECT."""
    return _PART.search(said, max(first, start - 60), start) is not None


def is_contradicted(said: str, start: int, last: int) -> bool:
    """Returns True if a sentence right before a label, or behind that of the label, which ends at `last`, calls the answer
    wrong.
    """
    before = _WRONG_BEFORE.search(said, max(0, start - 80), start)
    begin = max(0, last - 1)  # with the full stop or line break before it
    return before is not None or _BUT_WRONG.search(said, begin, last + _LONGEST) is not None
