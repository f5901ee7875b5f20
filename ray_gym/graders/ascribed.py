"""Tells titles that ascribe a label to someone else than the judge, or to an earlier try: `Student's answer: YES`."""

from __future__ import annotations

import re

from ray_gym.graders.characters import DASHES, MARKS

_PERSON = (
    r"(?:student|pupil|learner|candidate|applicant|contestant|respondent|examinee|user|human|customer|client"
    r"|author|writer"
    r"|policy|assistant|agent|model|bot|chatbot|llm|colleague|reviewer|annotator|teacher|expert"
    r"|(?:other|another|first|second|third|previous|earlier|former)\s(?:judge|grader|evaluator|examiner))"
    r"(?:\s(?-i:[A-Z])|\s\d{1,2})?"
)
_WORK = (
    r"(?:submission|response|answer|reply|solution|completion|essay|text|message|output)(?:\s(?-i:[A-Z])"
    r"|\s\d{1,2})?"
)
_GIVEN = r"(?:(?:own|final|first|last|stated|claimed|given|submitted|original)\s){0,2}"
_OPINION = (
    r"(?:verdict|claim|judgment|judgement|opinion|view|vote|guess|prediction|assertion|request|demand|wish|label"
    r"|conclusion|decision"
    r"|self[\s-]?\w{0,12})"
)
_SAID = rf"(?:{_OPINION}|answer|response|reply|output|message|statement|words?|choice|text)"
_MARK = r"(?:scor(?:e|ing)|rating|grad(?:e|ing)|mark|assessment|evaluation|impression)"
_SAYS = (
    r"(?:says|said|thinks|thought|believes|believed|feels|claims|claimed|states|stated|argues|argued|asserts"
    r"|asserted|answers|answered"
    r"|replies|replied|writes|wrote|votes|voted|predicts|predicted|insists|insisted|told\sme|tells\sme|wants|wanted)"
)
_NOT_OWN = r"(?!(?:judge|grader|evaluator|examiner|let|it|that|here|there|what|who|today|question|problem|exercise|task)['\u2019])"
_SOMEONES = (
    rf"(?:(?:[\w-]{{1,24}}\s){{0,3}}(?:{_NOT_OWN}[\w-]{{1,30}}(?:['\u2019]s|(?<=s)['\u2019])|\b{_PERSON}['\u2019]s)"
    r"|its|his|her|their)"
)
_THE = r"(?:(?:the|this|that|an?)\s)?"
_EARLIER = (
    r"(?:draft(?:ed)?|claimed|alleged|purported|self[\s-]\w{1,12}|previous|prior|earlier|former|old|initial"
    r"|original|preliminary|provisional"
    r"|tentative|requested|desired|injected|reference|expected|target|gold(?:en)?|ground[\s-]truth)"
)
_BY = r"(?:by|from|according\sto|(?:given|made|stated|claimed)\sby)\s"
_BEGINS = rf"(?:\A|[.!?;|(\uff08\n]|,(?=\s?\"))(?:{MARKS}|[#|{DASHES}]){{0,9}}(?:\d{{1,2}}[.)]\s)?{_THE}"
_SEPARATOR = rf"{MARKS}{{0,6}}(?:[:=|\uff1a\u2192]|[-=]>|(?<=\s)[\u2014{DASHES}](?=\s))(?:{MARKS}|[|]){{0,9}}"
_ONCE = rf"(?:previous|initial|original|former|earlier|before|last\s(?:time|round))(?:ly)?(?:\s(?:was|at))?(?:{MARKS}|[,:=]){{1,9}}"
_ASCRIBED = re.compile(
    rf"(?i:(?:<-|\u2190){MARKS}{{0,9}}\Z|(?:[(\[\uff08]{MARKS}{{0,4}}(?:(?:it|this|that|which|I)\s)?|\d[*_\"')\]]{{0,3}}[;,]\s(?:it\s)?)"
    rf"(?:was|were|had\sbeen|used\sto\sbe|first\s(?:gave|thought|said)){MARKS}{{1,9}}\Z"
    rf"|{_BEGINS}(?:(?:"
    rf"(?:{_SOMEONES}|(?:\w{{1,12}}\s)?{_PERSON})[\s_]{_GIVEN}{_SAID}|{_SOMEONES}\s(?:own|self[\s-]\w{{1,12}}"
    rf"|claimed)\s{_MARK}"
    rf"|(?:given|submitted)\s(?:answer|response)"
    rf"|(?:\w{{1,12}}\s){{0,2}}(?:{_SAID}\s?(?:\(|of\s|in\s)|(?:{_SAID}|{_MARK})[(,]?\s{_BY}){_THE}(?:{_PERSON}"
    rf"|{_WORK})\)?"
    rf"|according\sto\s{_THE}(?:{_PERSON}|{_WORK})|{_PERSON}\s(?:gave|gives|chose|picked|selected|put|outputs?"
    rf"|printed)"
    rf"|(?:what\s)?(?:(?!(?:my|our|I|we|as|what|which|that|this|verdict|logic|analysis|rubric"
    rf"|all)\b)[\w'\u2019-]{{1,24}}\s){{1,4}}{_SAYS}"
    rf"|{_EARLIER}(?:\s(?:{_SAID}|{_MARK}))?"
    rf")(?:\s(?:is|was))?{_SEPARATOR}|{_ONCE}|{_SOMEONES}\s{_GIVEN}{_OPINION}\s(?:is|was){MARKS}{{1,9}})\Z)"
)
"""A title, or the beginning of a sentence, right before a label."""
_SPEAKER = re.compile(rf"(?i:{_BEGINS}(?:\w{{1,12}}\s)?{_PERSON}{_SEPARATOR}\Z)")
"""A title that has only the name of someone: Student:."""
_WINDOW = 160
"""Largest number of characters before a label in which its title is looked for."""


def is_ascribed(said: str, place: int, *, is_name: bool = False) -> bool:
    """Returns True if the title right before a place ascribes what begins there to someone else, or to an earlier try.

    Args:
        said: the judge's answer.
        place: where the label begins.
        is_name: True if the label is the name of an answer, which may be behind `Assistant:`.
    """
    before = said[max(0, place - _WINDOW) : place]
    return _ASCRIBED.search(before) is not None or (not is_name and _SPEAKER.search(before) is not None)
