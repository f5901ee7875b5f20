"""Says whether the reason of a verdict prefers another answer than that: `B is better.`, beside a verdict for A."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ray_gym.graders.characters import DASHES
from ray_gym.graders.chosen import OF_AN_ASPECT
from ray_gym.graders.finder import within_brackets

BUT = re.compile(r"(?i:\b(?:but|(?:al)?though|while|whereas|however|yet)\b)")
_SENTENCE = 120
"""Largest number of characters that are looked at before the name of an answer."""
_NOUN = r"(?i:response|answer|assistant|output|solution|agent|model)"
_IS = (
    r"(?:is|was)\s(?:(?!(?:not|no|less|only|almost|nearly|part(?:ial)?ly|hardly|barely|rarely|never|mostly|sometimes|some|supposedly"
    r"|allegedly|seemingly|apparently|from|but|at|close|neither|also|an?(?!\s(?:bit|lot|little|far|better\s(?:answer|response|one))\b))\b)\w{1,14}\s){0,3}"
)
_PREFERABLE = r"(?:better|best|stronger|superior|preferable|winner|preferred)"
_OF_A_PART = r"(?!\s(?:written|\w{2,14}(?:ed|ly))\b)"
_IN_PART = r"(?!\s(?:as\swell|too|at|with|for|when|where|(?:in|on)\s(?!all|every|balance|general))\b)"
_BEST = (
    rf"(?:{_IS}{_PREFERABLE}{_OF_A_PART}{_IN_PART}|(?:(?:clearly|easily|narrowly|overall)\s)?(?:wins(?!\s(?:on|in|at|points?|for|only|if|when)\b)|should\swin"
    r"|has\sthe\s(?:better|best)\s(?:answer|response|solution|one)|(?:outperforms|beats|surpasses)\s(?:\w{3,12}\s)?(?-i:[A-Z\d]\b)(?!\s(?:on|in|at)\b)))(?![\w-])"
)
_WRONG = r"(?:wrong|off|incorrect|worse|weaker|inferior)"
_WORSE = (
    r"(?:(?:is|was)\s(?:(?:(?:the|clearly|completely|entirely|totally|factually|simply|plainly|just|indeed|mostly)\s){0,2}(?:wrong|off|incorrect)"
    r"|not(?:\s(?:the\s)?(?:better|correct|right)|\sas\sgood|(?=[.,;]|\Z))"
    r"|(?:(?:the|clearly|much|far|slightly|significantly|somewhat|considerably|marginally|a\sbit)\s){0,2}(?:worse|weaker|inferior))|loses)"
    r"(?!,?\s(?:but|though|yet)\b)(?=[.,;:!)]|\Z|\s(?:than|to|because|as|since|and|while|whereas|overall|answer|response|one|of)\b)"
)
_RIGHT = (
    rf"(?:{_IS}(?:right|correct)(?:\s(?:one|answer|response))?|(?:has|gives|provides)\sthe\s(?:right|correct)\s(?:answer|response|solution|one)|gets\sit\sright)"
    r"(?=[.,;:!)]|\Z|\s(?:and|because|as(?!\swell))\b)"
)
_NOT_SO = r"(?:(?:is|was|does|did|has)(?:\snot|n['\u2019]t))(?=[.,;]|\Z)"
_CLAUSE = re.compile(
    rf"(?:\A|[.,;:!?\n(]|\s[{DASHES}]|\b(?:and|but|so|yet|because|since|as|while|whereas|although|though|however|overall|clearly|therefore|thus|hence|that"
    r"|I\s(?:think|believe|find|say)))\s*(?:(?:the|both|overall|clearly|however|but|and|so|I\s(?:think|believe|find|say))\s+)?\Z",
    re.IGNORECASE,
)
"""Ends the words before the name with which a clause begins."""
_CONCEDED = re.compile(
    r"(?i:\b(?:if|could|might|may|some|argue[sd]?|claims?|says|seem|initially|first|for\s\w+\s(?:answers?|questions?|users?))\b[^.;!?]*\Z)"
)
_HAS_A_FAULT = r"(?!\s(?:has|contains|made|makes)\s(?:an?|any|one|some|errors?|mistakes?)\b)"
_NOT_MINE = re.compile(
    r"(?i:\b(?:some|people|users?|one|may|might|could|would|not|n['\u2019]t|initially|reason\sto)\s(?:\w{1,12}\s)?\Z)"
)


def prefers(name: str, verdict: str, said: str) -> bool:
    """Says whether a reason prefers an answer of this name to that of the verdict: it calls it better, or the other worse,
    and does not say so of both; or nothing but better or right, or right where the other is not.
    """
    own, other = (rf"(?:{_NOUN}\s)?{bare([one])}" for one in (verdict, name))
    preferred = rf"(?i:prefer|\bonly|choose|pick|favou?r)\s{other}(?!['\u2019]s){_HAS_A_FAULT}"
    if any(not _NOT_MINE.search(_before(said, found)) for found in re.finditer(preferred, said)):
        return True
    if re.search(rf"{other}\s(?:>|(?i:should\sbe\s(?:preferred|chosen)))", said):
        return True
    if _is_called(other, _BEST, said) or _is_called(own, _WORSE, said):
        return not (
            _is_called(own, _BEST, said)
            or re.search(rf"(?:{other}|(?i:both))\s(?i:(?:is|was|are)\s(?:\w{{1,12}}\s){{0,2}}{_WRONG})", said)
        )
    is_alone = not re.search(own, said) and not BUT.search(said)
    if is_alone:
        return _is_called(other, rf"(?:{_RIGHT}|{_IS}{_PREFERABLE}{_OF_A_PART})(?![\w-])", said)
    return (
        _is_called(other, _RIGHT, said) and re.search(rf"{own}\s{_NOT_SO}|\b(?i:not|unlike)\s{own}", said) is not None
    )


def _is_called(name: str, what: str, said: str) -> bool:
    """Says whether a clause begins with a name and calls its answer this, in all, rather than in an aspect of it."""
    for found in re.finditer(rf"{name}\s(?i:{what})", said):
        before = _before(said, found)
        if _CLAUSE.search(before) and not OF_AN_ASPECT.search(before) and not _CONCEDED.search(before):
            return True
    return False


def _before(said: str, found: re.Match[str]) -> str:
    return said[max(0, found.start() - _SENTENCE) : found.start()]


def bare(labels: Iterable[str]) -> str:
    """Returns the regular expression of one of the labels, without brackets, as a whole word."""
    return rf"(?<![^\W_])(?:{'|'.join(re.escape(within_brackets(label)) for label in labels) or '(?!)'})(?![\w-])"
