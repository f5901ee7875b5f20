"""Finds a verdict in another letter case behind a label (`PASS`, `Final: fail`): then it is not plain which counts."""

from __future__ import annotations

import re
from functools import lru_cache

from ray_gym.graders.ascribed import is_ascribed
from ray_gym.graders.characters import CROSSES, DASHES, MARKS
from ray_gym.graders.finder import Finder, spaced
from ray_gym.graders.titles import is_of_the_whole

_IN_WORDS = dict(
    zip(("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), range(11), strict=True)
)
_THEREFORE = (
    r"(?:so|hence|therefore|thus|overall|finally|ultimately|consequently|accordingly"
    r"|in\s(?:conclusion|summary|short|total)|and|but)"
)
_LEADS = (
    r"(?:(?:my|the|this|that)\s(?:\w{1,12}\s){0,2}(?:verdict|judgment|judgement|rating|score|grade|label|decision|result"
    r"|outcome)\s(?:is|remains|becomes|was)(?:\snow)?"
    r"|(?:it|this|that)(?:\s(?:is|gets|deserves|means|should\sbe|must\sbe)|['\u2019]s)(?:\snow)?|I(?:['\u2019]d"
    r"|\swould|\sthus|\stherefore)?\s(?:say|rate|judge|call|mark|grade|give|vote|choose|pick)"
    r"(?:\s(?:it|this|that|the\s\w{1,12}))?)(?:\s(?:as|with|an?))?"
)
_WRONG_ABROAD = (
    r"\u9519\u8bef?|\u932f\u8aa4|\u4e0d(?:\u6b63[\u786e\u78ba]|\u5bf9|\u5c0d|\u6b63\u89e3|\u9069\u5207)|\u9593\u9055\u3044|\u8aa4\u308a|\ud2c0\ub9bc"
    r"|\ud2c0\ub838\uc74c|\ud2c0\ub838\uc2b5\ub2c8\ub2e4|\uc624\ub2f5|\u043d\u0435\u0432\u0435\u0440\u043d\u043e|\u043d\u0435\u043f\u0440\u0430\u0432\u0438\u043b\u044c\u043d\u043e|\u043e\u0448\u0438\u0431\u043e\u0447\u043d\u043e"
)
_WORTHLESS = re.compile(
    rf"(?im:(?:^(?:{MARKS}|[#|{DASHES}]){{0,12}}|,\s{{0,4}}\")(?:(?:is|final|overall|total|my)[\s_]){{0,2}}"
    r"(?:verdict|judgment|judgement|scores?|rating|grade|points|correct|passed)(?:[\s_](?:after|on|upon)[\s_]\w{1,12})?"
    rf"{MARKS}{{0,6}}[:=\uff1a]{MARKS}{{0,9}}(?P<no>0(?:\.0+)?(?:\s?/\s?\d{{1,3}})?|f|no|false|(?:in|not\s)correct|wrong|fail(?:ed)?"
    rf"|reject(?:ed)?){MARKS}{{0,9}}(?:$|[,.;](?!\d))"
    rf"|^{MARKS}{{0,9}}(?!\w{{1,12}}\u7b54)[^\W\da-z_]{{1,12}}{MARKS}{{0,6}}[:\uff1a]{MARKS}{{0,9}}(?:{_WRONG_ABROAD})"
    rf"{MARKS}{{0,9}}(?:$|[,.;\u3002\uff0c\uff1b])"
    rf"|^{MARKS}{{0,9}}[{CROSSES}]\ufe0f?{MARKS}{{0,9}}$)"
)
"""The title of a verdict with another word for no (`Score: 0/10`, `"correct": false`), a part's in other scripts, or a cross alone
on its line.
"""
_NO_HARM = re.compile("(?i:safe|harmless|benign)")
"""Labels beside which a score of nothing may be one of harm."""
_NO_VERDICT = re.compile(r"(?i:correct|given|expected|reference)")
"""Part of a title of the reference or of what is judged."""


@lru_cache(maxsize=64)
def _pattern(texts: tuple[str, ...]) -> re.Pattern[str]:
    label = "|".join(map(spaced, sorted(texts, key=len, reverse=True)))
    end = rf"{MARKS}{{0,9}}(?=[.,;!\u3002\u2014]|\s[{DASHES}]\s|\s(?:because|since|as)\b|$)"
    around = rf"(?:{MARKS}|[#|{DASHES}]){{0,12}}"
    return re.compile(
        rf"(?im:^{around}(?P<alone>(?:not\s)?(?:{label})){MARKS}{{0,9}}[.!]{{0,3}}{MARKS}{{0,9}}$"
        rf"|^{around}(?P<title>[^\W\d][^\n:=|]{{0,40}}?)[\s*_]{{0,6}}(?:[:=|\uff1a\u2192]|(?<=\s)[\u2014{DASHES}](?=\s))"
        rf"{around}(?P<titled>(?:not\s)?(?:{label})){end}"
        rf"|(?:^|[.!?;])[\s*_]{{0,6}}(?:{_THEREFORE}[\s,]{{1,3}}(?:{_LEADS}\s)?"
        rf"|{_LEADS}\s)(?:{MARKS}){{0,9}}(?P<led>{label}){end})"
    )


def restates_another(said: str, place: int, label: str, finder: Finder) -> bool:
    """Returns True if another label than `label` stands as a verdict behind a place, in another letter case, without its
    brackets, or in words: alone on its line, behind the title of a verdict, or in a sentence that leads to one. Beside a
    positive label, so does another word for no, or none of the points, wherever it is.
    """
    if (
        label in finder.positive
        and not _NO_HARM.search(label)
        and any(finder.named(found["no"] or "") is None for found in _WORTHLESS.finditer(said))
    ):
        return True
    bare = finder.bare
    texts = dict(bare)
    texts |= {word: bare[str(number)] for word, number in _IN_WORDS.items() if str(number) in bare}
    for found in _pattern(tuple(texts)).finditer(said, place):
        text = found["alone"] or found["titled"] or found["led"]
        if texts.get(" ".join(text.lower().split())) == label:
            continue
        title = found["title"]
        if title is None or (
            is_of_the_whole(title) and not _NO_VERDICT.search(title) and not is_ascribed(said, found.start("titled"))
        ):
            return True
    return False
