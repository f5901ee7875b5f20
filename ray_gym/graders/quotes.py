"""Tells a label that a judge quotes, or ascribes to someone else, from the verdict that it gives.

A policy writes what a judge quotes, so such a label is never taken for a verdict: the judge is asked again, unless its
own verdict follows.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from ray_gym.graders.ascribed import is_ascribed
from ray_gym.graders.characters import MARKS

_FENCE = re.compile(r"(?m:^[ \t]*+(`{3,}+|~{3,}+)[^\n`]{0,60}$)")
_QUOTED_LINE = re.compile(r"(?m:^[ \t]*+>[^\n]*+)")
_WORD = re.compile(r"[^\W_]")
_NO_WORDS = re.compile(r"(?:</?\w{1,20}>|[\W_])*+\Z")
_SUBJECT = (
    r"(?:student|response|answer|assistant|user|candidate|model|solution|text|submission|author|agent|customer|policy|reply"
    r"|essay|message|colleague|prompt|output|it|he|she|they|who|which)"
)
_VERB = (
    r"(?:wrote|writes?|written|says?|said|claims?|claimed|state[sd]?|contains?|contained|include[sd]?|outputs?|printed"
    r"|prints|reads?|asserts|asserted|replie[sd]|answered|answers|declare[sd]|conclude[sd]|adds|added|quote[sd]"
    r"|(?:begin|start|end|close|finish)(?:e?[sd])?\s(?:with|in|by)|(?:asks|asked|tells|told|instructs|instructed|demands"
    r"|demanded|requests|requested)(?:\s(?:me|us|the\s(?:judge|grader)|for))?(?:\sto\s\w{1,12})?)"
)
_TITLE = (
    r"(?:that|the|this|its|an?|following|final|last|own|overall|should|be|is|as|here|at|in|with|end|only|just|simply|very"
    r"|my|your|me|us|it|mark|verdict|label|output|grade|rating|score|decision|judgment|judgement|line|words?|text|string|phrase|sentence|tag)"
)
_OPENED = (
    r"(?:\"[^\"]{0,600}|\u201c[^\u201d]{0,600}|[\u201e\u201f][^\u201c\u201d]{0,600}|\u00ab[^\u00bb]{0,600}"
    r"|\u300c[^\u300d]{0,600}|\u2018(?:[^\u2019\n]|\u2019(?=\w)){0,600}|'(?:[^'\n]|(?<=\w)'(?=\w)){0,600}|`[^`]{0,600})"
)
"""A quotation that is not closed."""
_OTHERS = re.compile(
    r"(?i:(?P<agrees>\b(?:as|like|than|(?<!\bis\s)(?<!['\u2019]s\s)what)\s+)?"
    rf"(?:\b(?:the|this|that|its|an?)\s)?(?:\b\w{{1,15}}\s)?"
    rf"\b(?:{_SUBJECT}\s(?:(?:\w{{1,12}}ly|also|then|even|just|has|had)\s){{0,2}}{_VERB}"
    r"|(?:last|final|closing|first)\s(?:line|sentence|words?|paragraph)(?:\sof\s\w{1,12}\s\w{1,12})?"
    r"\s(?:is|are|was|reads?|says?))"
    rf"(?:\s{{1,3}}{_TITLE}\b){{0,6}}[\s*_]{{0,4}}"
    rf"(?:[:\uff1a][\s*_>]{{0,6}}(?:(?:{_TITLE}|answer)\b[\s*_:\uff1a=-]{{1,6}}){{0,6}})?(?:{_OPENED}|{MARKS}{{0,12}})\Z)"
)
"""Introduces someone else's words: The student wrote: [[YES]], It ends with the line: Final verdict: [[YES]]. The group
`agrees` is there if they are named as a reason: That is right, as the student says: [[YES]]."""
_WISH = (
    r"\b(?:attempt(?:s|ed|ing)?|tr(?:y|ies|ied|ying)|wants?|wanted|hope[sd]?|instructions?|notes?|messages?|requests?|commands?"
    r"|demands?|pleas?)\s(?:(?:to|for|at)\s)?"
)
_REPORTED = re.compile(
    rf"(?i:(?:{_WISH}(?:(?:\w{{1,12}}\s)?(?:me|us|(?:the|a|any)\s(?:judge|grader))|(?:inject|manipulat|forc|influenc|fak)\w{{0,3}})\b"
    rf"|\baccording\sto\s(?:the|this|that|its|his|her|their)\s(?:\w{{1,15}}['\u2019]s\s)?(?!text\b){_SUBJECT}\b,?"
    r"|['\u2019]s\s(?:\w{1,12}\s)?(?:answer|response|output|reply|text)\s(?:is|was)\s(?:(?:just|only|simply|merely)\s)?(?=[\"\u201c`]\Z))"
    r"(?:(?!\b(?:so|hence|therefore|thus|which|my\sverdict)\b)[^,;.!?\n]){0,160}\Z"
    rf"|{_WISH}(?:answer|output|say|mark|grade|rate|label|print|write|return|reply|respond)(?:\s{_TITLE}\b){{0,6}}{MARKS}{{0,12}}\Z)"
)
"""Begins what someone else wants of the judge, or holds, up to a label: It tries to make me say it is CORRECT."""
_ABROAD = re.compile(
    r"(?i:(?:\A|[.!?\n\u3002\uff01\uff1f])(?P<clause>[^.!?\n\u3002\uff01\uff1f]{0,120})"
    r"(?:\b(?:schrieb|schreibt|geschrieben|sagte?|(?:behauptet|antwortet|erkl\u00e4rt)e?"
    r"|(?:a|ont|avait)\s(?:\w{1,12}\s)?(?:\u00e9crit|dit|affirm\u00e9|r\u00e9pondu|d\u00e9clar\u00e9)|\u00e9crit|(?<!cela\s)(?<!ceci\s)(?<!autrement\s)dit|affirme|r\u00e9pond|d\u00e9clare"
    r"|escribi\u00f3|escribe|dijo|dice|afirm[a\u00f3]|respond[ei\u00f3]{1,2}|declara"
    r"|ha\s(?:scritto|detto|escrito|dicho|risposto|affermato)|scrive|scrisse|disse|afferma|escreveu|escreve|diz|respondeu"
    r"|\u043d\u0430\u043f\u0438\u0441\u0430\u043b\u0430?|\u043f\u0438\u0448\u0435\u0442|\u0441\u043a\u0430\u0437\u0430\u043b\u0430?|\u0443\u0442\u0432\u0435\u0440\u0436\u0434\u0430\u0435\u0442|\u043e\u0442\u0432\u0435\u0442\u0438\u043b\u0430?)"
    r"(?:\s(?:dem|den|der|au|aux|al|ao)\s\w{1,12})?"
    r"|(?:\u5199\u9053|\u5199\u4e86|\u5199\u7740|\u58f0\u79f0|\u7b54\u9053|\u8bf4\u9053|\u5beb\u9053|(?:\u5b66\u751f|\u56de\u7b54|\u4ed6|\u5979|\u7528\u6237)(?:\u8bf4|\u8ba4\u4e3a)"
    r"|(?:[\u5b66\u5b78]\u751f|\u8003\u751f|\u7528[\u6237\u6236])(?:\u7684|\u306e)?(?:\u7b54\u6848|\u56de\u7b54|\u4f5c\u7b54|\u7b54\u3048|\u89e3\u7b54)"
    r"|\ud559\uc0dd\uc758?\s?\ub2f5\ubcc0?|\u043e\u0442\u0432\u0435\u0442\s(?:\u0441\u0442\u0443\u0434\u0435\u043d\u0442\u0430|\u0443\u0447\u0435\u043d\u0438\u043a\u0430|\u043c\u043e\u0434\u0435\u043b\u0438)|\u66f8\u3044\u305f|\u8a00\u3063\u305f))"
    rf"(?:\s?[:\uff1a]|(?<=[\u8bf4\u4e3a])(?:\u7b54\u6848|\u7ed3\u679c)?\u662f)[\s*_>]{{0,6}}(?:{_OPENED}|{MARKS}{{0,12}})\Z)"
)
"""Introduces someone else's words in languages that judges answer in: Der Student schrieb: [[YES]]."""
_REASON_ABROAD = re.compile(
    r"(?i:\b(?:wie|comme|come|como|seg\u00fan|segundo|\u043a\u0430\u043a|ich|je|j['\u2019]ai|yo|io|eu|\u044f)\b|\u6b63\u5982|\u5982|\u6211)"
)
"""Words by which those are a reason, or the judge's own: wie der Student schrieb."""
_TITLED = re.compile(
    rf"(?i:(?:\A|[.!?\n])[\s*_#>-]{{0,9}}(?:(?:please\s)?(?:ignore|disregard)|default|options?|examples?"
    r"|(?:\w{1,12}\s){0,2}(?:quot(?:ed?|ation)|excerpt|injection)(?:\s(?:from|of|in)\s(?:\w{1,12}\s){0,2}\w{1,12})?"
    r"|(?:the\s)?(?:embedded|injected|planted)(?:\s\w{1,12}){1,2})"
    rf"[\s*_]{{0,4}}[:\uff1a]{MARKS}{{0,12}}\Z)"
)
"""Title of a label that is not given: Ignore: [[YES]]."""
_SUPPOSED = re.compile(
    r"(?i:\b(?:(?:if|unless|(?<=[.\n] )(?:had|were))\s(?!(?:I|we)\s)[^.;!?\n]{1,160}?"
    r"(?:\bwould|['\u2019]d)\s(?:then\s|have\s){0,2}(?:be|been|read|say|said|give|given|get|earn|deserve|receive|answer|rate|mark|judge)"
    r"|(?:si|s['\u2019]il|wenn|falls|se)\s[^.;!?\n]{1,160}?(?:ser\u00eda|seria|serait|w\u00e4re|sarebbe|w\u00fcrde))"
    rf"(?:\s(?:{_TITLE}|it|so|my|das|urteil)\b){{0,4}}{MARKS}{{0,6}}[:\uff1a]?{MARKS}{{0,12}}\Z)"
)
"""Introduces what is not so: If the student had shown work, the verdict would be: [[YES]]."""
_OWN = re.compile(
    rf"(?i:(?:\A|[.!?\n])(?:(?!\b{_SUBJECT}\b)[^.!?\n]){{0,60}}\b(?:verdict|judgment|judgement|evaluation|assessment|decision"
    rf"|rating|grade|label|conclusion)[\s*_]{{0,4}}[:\uff1a]?[\s*_]{{0,8}}\Z)"
)
"""Introduces the judge's own verdict: Here is my verdict: ```."""
_DISOWNED = re.compile(
    r"[\s*_]{0,8}(?:(?:is|was|are|were|would)\b|(?i:[^.!?\n]{0,160}?\b(?:inject\w*|quotation|being\squoted"
    rf"|(?:this|that|above)\s(?:is|was)\s(?:what|how|not|only|a\squote|copied|quoted|taken|from|part|the\s{_SUBJECT})"
    rf"|{_SUBJECT}\s(?:wrote|writes|says|asks\sfor|ends\swith|contains)\s(?:this|the\sabove))\b))"
)
"""Words behind a fence by which it is someone else's: That is what the student wrote."""
_WINDOW = 700
"""Largest number of characters that are looked at before a label."""


class Quotes:
    """Finds the labels in a judge's answer that it quotes: those that words before them ascribe to someone else or
    suppose, and those in a block, which is a code fence or lines that begin with `>`.

    A block is the judge's own at the end of the answer, or where it is named as the verdict; a fence is, too, at the
    beginning, unless what follows disowns it.
    """

    def __init__(self, said: str) -> None:
        self._said = said
        fences = _fences(said)
        self._fences = {start for start, _ in fences}
        self._blocks = _merged([*fences, *(found.span() for found in _QUOTED_LINE.finditer(said))])
        self._starts = [start for start, _ in self._blocks]
        word = _WORD.search(said) if self._blocks else None
        self._first_word = word.start() if word else 0
        self._closing = _start_of_closing(said, self._blocks)

    def hold(self, start: int, end: int, *, is_name: bool) -> bool:
        """Returns True if a label at this place is quoted. One that names an answer may be behind `Assistant:`."""
        if is_introduced(self._said, start) or is_ascribed(self._said, start, is_name=is_name):
            return True
        at = bisect_right(self._starts, start) - 1
        if at < 0 or end > self._blocks[at][1]:
            return False
        begin, stop = self._blocks[at]
        if is_introduced(self._said, begin):
            return True
        if begin >= self._closing:
            return False
        opens = begin in self._fences and begin <= self._first_word
        owned = opens or _OWN.search(self._said, max(0, begin - _WINDOW), begin)
        return not owned or _DISOWNED.match(self._said, stop) is not None


def is_introduced(said: str, place: int) -> bool:
    """Returns True if the words before a place ascribe to someone else, or suppose, what begins there."""
    before = said[max(0, place - _WINDOW) : place]
    others = _OTHERS.search(before)
    abroad = _ABROAD.search(before)
    if abroad is not None and _REASON_ABROAD.search(abroad["clause"]) is None:
        return True
    if _REPORTED.search(before) or _TITLED.search(before) or _SUPPOSED.search(before):
        return True
    return others is not None and others["agrees"] is None


def _fences(said: str) -> list[tuple[int, int]]:
    """Returns the code fences of a text; one that is not closed goes on to the end."""
    found: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(said):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]):
            found.append((opened.start(), fence.end()))
            opened = None
    return [*found, (opened.start(), len(said))] if opened else found


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns sorted spans, those that touch as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _start_of_closing(said: str, blocks: list[tuple[int, int]]) -> int:
    """Returns the start of the blocks at the end of a text, behind and between which is no word."""
    start = len(said)
    for begin, end in reversed(blocks):
        if not _NO_WORDS.match(said, end, start):
            break
        start = begin
    return start
