"""Says whether a short label behind a noun, as in `Response B`, is spoken of, rather than given as a verdict."""

from __future__ import annotations

import re

from ray_gym.graders.characters import MARKS

_NAME = re.compile(
    rf"(?i:(?:\b(?:the|my|our|final|best|better|correct|right|preferred|winning|chosen|overall)\s+){{0,3}}"
    rf"\b(?:response|answer|output|solution|assistant|agent)\s+{MARKS}{{0,12}}\Z)"
)
"""Ends the words before the name of one of several answers, or a score: the winner is *Response* A."""
_SHORT = re.compile(r"\W*\w{1,3}\W*")
"""Label that may be a name, a score, or yes or no."""
_CHOSEN = re.compile(
    r"(?i:(?:(?:go(?:es|ing)?|went|stick|stay|agree|settle|left|leaves\s+us|I\s+side|I['\u2019][dm]\s+sid(?:e|ing)|I\s+(?:would|am|will)\s+sid(?:e|ing))\s+with"
    r"|(?:edge|nod|win|points?|vote|advantage|victory|preference|verdict|choice|pick|(?:gives?|giving|award)\s+it|go(?:es)?|lean\w*|belongs|leads(?:\s+me)?|down"
    r"|awarded|given|comes?|have|need|going|want|tend|inclined|corresponds|no\s+choice\s+but)\s+to"
    r"|(?:vot\w+(?:\s+is)?|opt\w*|deci(?:de|ding)\w*|settle|go(?:ing)?|scores?|grade|rating|preference(?:\s+is)?|choice(?:\s+is)?|point|favou?r)\s+(?:for|of)"
    r"|\b(?:I|we)\s+(?:\w{1,12}\s+)?(?:arrive|come|get)\s+(?:at|to)"
    r"|(?:best|better|strong(?:er|est)|superior|right|correct|winning|preferred|(?:more|most)\s+\w{1,16})\s+(?:\w{1,12}\s+){0,5}(?:from|by)|confident\s+in)\s+"
    rf"{MARKS}{{0,12}}\Z)"
)
"""Words that end with a preposition, and choose what is named behind them."""
_OTHERS = r"(?:users?|annotators?|humans?|raters?|colleagues?|reference|students?|experts?|people|others|crowd)"
_CHOICE = r"(?:pick|cho(?:o|ice|se)|select|prefer|favou?r|recommend|sid(?:e|ing))"
_SPOKEN_OF = re.compile(
    rf"(?i:\b(?:than|in|at|to|with|within|from|by|about|like|unlike|against|over|above|below|(?P<of>of|for))\s+{MARKS}{{0,12}}\Z"
    rf"|\b(?:response|answer|output|solution|assistant|agent)\s+{MARKS}{{0,12}}\w{{1,2}}{MARKS}{{0,12}}\s+(?:and|or|nor)\s+\Z"
    r"|\bbetween\s[^.!?\n]{1,60}\s+and\s+\Z"
    r"|\b(?:beat|contradict|print|return|compute|support|expect|produce|display|match|mention|quote|repeat|compare|follow|(?:re)?read|rewrite|improve|revise|fix|praise|criticize)(?:e?s|ed|ing)?\s+\Z"
    r"|\b(?:has|gets|reaches|obtains|writes|outputs)\s+\Z"
    rf"|\b{_OTHERS}\s+(?:\w{{1,12}}\s+)?{_CHOICE}\w*\s+\Z"
    r"|\b(?:almost|nearly|(?:hard|difficult|tempting|tempted|reluctant|unable|hesitate\w*)\s+to|was\s+inclined"
    r"|(?:would|could|might|['\u2019]d)\s+have"
    r"|(?:initially|originally|(?:at|on)\s+first|before\s)[^.!?\n]{0,40}\b(?:I|we)(?:\s+was|\s+had)?|I\s+first\s+thought(?:\s+that)?)"
    rf"(?:\s+{_CHOICE}\w*|\s+(?:go|side)\s+(?:for|with)|\s+towards?){{0,2}}\s+\Z)"
)
"""Ends the words before the name of an answer that is compared, judged by others, or chosen in thought only."""


def is_spoken_of(said: str, begin: int, start: int, end: int) -> bool:
    """Says whether the label from `start` to `end`, of one to three letters, is behind a noun, and that is compared or the
    like by the words from `begin` on, rather than chosen.
    """
    named = _NAME.search(said, begin, start) if _SHORT.fullmatch(said, start, end) else None
    found = _SPOKEN_OF.search(said, begin, named.start()) if named is not None else None
    if named is None or found is None or _CHOSEN.search(said, begin, named.start()):
        return False
    return not (found["of"] and named[0][:4].lower() == "the ")
