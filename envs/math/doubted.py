"""Says whether the words before `answer is` doubt or deny it, or give it as another's."""

from __future__ import annotations

import re

_END = r"(?:\s(?:the|my|this|your|final|correct|right)){0,3}\s*\Z"
_NEVER_OF = r"(?<!no\s)(?<!not\s)(?<!n['\u2019]t\s)(?<!never\s)(?<!any\s)(?<!without\s)"
_DOUBT = (
    r"(?:\b(?:whether|if|maybe|perhaps|possibly|(?:some|many|others|people|they|students)\s(?:\w+\s)?(?:say|think|claim|believe)"
    rf"|{_NEVER_OF}doubt|false|wrong|unclear|unsure|unlikely)|\b(?:not|un)\s?(?:sure|certain|clear|say)"
    r"|(?:n['\u2019]t|\bcannot|\bnever|\bwrong to)\s(?:\w+\s){0,2}?(?:say|sure|certain|know|think|believe))"
    r"(?:\s(?:if|that|whether))?"
)
_SOMEONE = (
    r"(?:\b(?:he|she|(?:class)?mate|student|friend|brother|sister|mother|father|colleague|teacher|user|assistant|someone"
    r"|(?:other|another|different)\smodel|(?:the|my|a|text)\s?book|\w*GPT(?:-\w{1,3})?"
    r"|AI|chatbot|calculator|everyone)|(?-i:\b(?!(?:The|This|That|It|Logic|Lemma|Theorem|Python|Math(?:ematics)?|Algebra|Arithmetic|Everything)\b)[A-Z][a-z]+))"
)
_ANOTHERS = (
    rf"\b(?:least\s\w+|second\s\w+|alternative|worst)\s*\Z|{_SOMEONE}\s(?:says|said|claim(?:s|ed))(?:\sthat)?\sthe\s*\Z"
)
_NOT = (
    r"(?:n['\u2019]t|\b(?:not|cannot|never|nobody|nothing|by\sno\smeans|incorrect|impossible|reject\w*|refus\w+"
    r"|den(?:y|ies|ied)|disput\w+))\b(?!\s(?:hard|difficult|surprising|only)\b)"
)
_ASIDE = r",\s(?!(?:so|and|thus|hence|but|then|which|we|you|one|it|I\s(?!think|believe|fear))\b)(?:[\w'\u2019-]+\s){0,3}[\w'\u2019-]+,"
_NEXT_CLAUSE = (
    r"\b(?:so(?!\s(?:far|much|easy|simple|clear|sure|certain|obvious)\b)|and|thus|hence|therefore|but|then|which|meaning|implying"
    r"|(?<!nothing\s)(?:implies|shows)|doubts?|(?<!how\s)(?<!why\s)(?<!what\s)(?<!that\s)(?<!think\s)(?<!believe\s)(?<!sure\s)(?<!certain\s)"
    r"(?<!see\s)(?<!convinced\s)(?:(?:it|this)\s(?:follows|means|must|is|has)"
    r"|(?:we|I|you|one)\s(?:(?:can|could|may|must|will|would)\s)?"
    r"(?:say|conclude|see|find|know|get|have|claim|deduce|infer|answer|obtain|state)|I(?:\sam|['\u2019]m)?\s(?:think|believe|sure|certain|convinced)))\b|\s[\u2013\u2014-]{1,3}\s"
)
"""Beginning of a clause that a `not` before it does not govern."""
_DENIED = rf"(?:\s(?:so|therefore|thus|then|hence)\b)?(?:{_ASIDE}|(?!{_NEXT_CLAUSE})[^,.!?:;\n]){{0,60}}\b(?:that|say|claim|conclude)"
_DOUBTED = re.compile(rf"{_DOUBT}{_END}|{_ANOTHERS}|{_NOT}{_DENIED}{_END}", re.IGNORECASE)


def is_doubted(before: str) -> bool:
    """Says whether the words before `answer is` doubt or deny it in its own clause, or give it as another's."""
    return _DOUBTED.search(before) is not None
