"""Finds what takes a verdict back behind it: `Scratch that.`, `That verdict was wrong.`, `But it crashed.`"""

from __future__ import annotations

import re

RETRACTION = re.compile(
    r"(?i:(?:\A|[.!?;,:\])\u2026\u2014\u2013\n-])[\s*_\"'(]{0,6}(?:(?:oh|no|but|hmm+|well|ah)\b[\s,.]{0,4}){0,2}"
    r"(?:wait|hold\s+on|actually(?=[\s,:]{1,4}\w)|(?:on|upon|after)\s+(?:second|further|closer|more"
    r"|re)?-?\s*(?:thoughts?|reflection|inspection|look|review|consideration)"
    r"|(?:on|upon|after)\s+(?:\w{1,12}\s)?re-?(?!ad|c[eo][ip]|ach|ply|sp)\w{2,20}(?:ing|ion)|(?:hmm+|oh|ah"
    r"|or\s+rather)[\s,.]{1,4}no(?=\s?[,.:;!\u2014-])|or\s+rather"
    r"|edit(?:ed)?(?=\s?(?:\([^)\n]{0,30}\))?[\s*_]{0,4}:)|(?:disregard|ignore)\s(?:that|this|the\sabove)"
    r"|correction|oops|whoops|never\s?mind|i\s+change\s+my|scratch\s+that|strike\s+that|i\s+take\s+(?:it|that"
    r"|this)\s+back|let\s+me\s+(?:re-?\w+|correct|revise|fix|think\s+again|look\s+again|double)"
    r"|(?:my\s+)?(?:mistake|apologies)|my\s+bad|sorry|i\s+(?:was|am|stand)\s+(?:mistaken|wrong|corrected)"
    r"|i\s+(?:misread|misjudged|miscounted|miscalculated|misspoke|mistyped|mistook|overlooked|missed|meant)"
    r"|i(?:['\u2019]ve|\s+have)?\s+made\s+(?:an?|my)\s+(?:\w{1,12}\s)?(?:mistake|error|slip|typo)"
    r"|moment(?:\s?mal|(?=[,!.\u2026]))|halt|\u043f\u043e\u0434\u043e\u0436\u0434\u0438(?:\u0442\u0435)?|\u043f\u043e\u0433\u043e\u0434\u0438(?:\u0442\u0435)?|\u0441\u0442\u043e\u043f|doch\s+nicht|attendez|en\s+fait|espera|en\s+realidad)\b"
    r"|\u7b49\u7b49|\u7b49\u4e00\u4e0b|\u66f4\u6b63|\u5f85\u3063\u3066|\u8a02\u6b63|\uc7a0\uae50|\uc7a0\uc2dc\ub9cc)"
)
"""Words at the beginning of a sentence or clause that withdraw what was said before."""

_ADVERB = r"(?:\s(?:\w{1,12}ly|now|just|still|also|quite|clearly))?"
_IS = rf"(?:['\u2019]s|\s(?:is|was|were|seems|looks|has\sbeen|had\sbeen|would\sbe)){_ADVERB}"
_ISNT = (
    rf"(?:\s(?:is|was)n['\u2019]t|{_IS}\snot){_ADVERB}\s(?:the\s)?"
    r"(?:right|correct|true|accurate|valid|so|warranted|justified|fair|the\scase)"
)
_OF_THE_VERDICT = (
    r"(?:(?:an?|my|the)\s(?:mistake|error|misjudgment|slip)|the\swrong\s(?:verdict|label|rating|score|call)|mistaken|erroneous|premature|hasty|void|moot"
    r"|withdrawn|retracted|revoked"
    r"|revised|changed|overturned|unwarranted|unjustified|too\s(?:high|low|lenient|strict|harsh|generous|hasty"
    r"|kind|soon|quick))"
)
_WRONG = r"(?:wrong|incorrect|false|invalid|inaccurate|untrue|off)"
_ENDS = r"(?![^\W_])"
_BEGINS = r"[*_\"')]{0,4}+[\s*_]{0,6}+(?:(?:no|oh|so|well|ah|hm{1,5}|sorry|but|and|please|note|also|in\sfact)\b[\s,:.]{1,4}){0,2}"
_VERDICT = (
    r"(?:verdict|label|rating|scor(?:e|ing)|grad(?:e|ing)|mark|judgment|judgement|decision|assessment|evaluation)"
)
_THIS = (
    rf"(?:(?:that|this|my)\s(?:\w{{1,12}}\s)?{_VERDICT}(?:\s(?:above|before))?|my\s(?:\w{{1,12}}\s)?(?:conclusion|answer)|the\s(?:(?:verdict|rating|score)\sI\s(?:gave|wrote)(?:\sabove)?|verdict"
    rf"|rating|{_VERDICT}\s(?:above|before))"
    rf"|the\s(?:above|previous|preceding|former|initial|first)\s(?:{_VERDICT}|line|sentence|statement|conclusion)"
    rf"|(?:the|all)\sabove"
    r"|that\sconclusion(?=\s\w{2,4}\spremature)|what\sI\s(?:said|wrote)(?:\s(?:above|before))?"
    r"|the\sscore(?=\s(?:should|must|needs|ought)))"
)
_NO_MORE = r"\s(?:should|must|ought|needs|does\snot|doesn['\u2019]t|cannot|can['\u2019]t)\s(?:now\s)?(?:be|have|to|hold|stand|apply)"
_WITHDRAWN = re.compile(
    rf"(?i:(?:\A|[.!?;\n]){_BEGINS}(?:{_THIS}(?:{_ISNT}|{_IS}\s(?:{_OF_THE_VERDICT}|{_WRONG}|no\slonger"
    rf"|to\sbe){_ENDS}|{_NO_MORE}|\sno\slonger{_ENDS})"
    rf"|(?:the\s)?{_VERDICT}\s(?:withdrawn|retracted|revoked|revised|changed|overturned|is\snow)"
    r"|I\s(?:was|am|have\sbeen)\s(?:\w{1,12}\s)?(?:wrong|mistaken|too\s\w{1,12}|in\serror)|I(?:['\u2019]ve"
    r"|\shave)?\schanged\smy\smind|changed\smy\smind"
    r"|I(?:['\u2019]d|['\u2019]ll|\s(?:hereby|must|have\sto|need\sto|want\sto|should|will|now"
    r"|would))?(?:\slike\sto|\snow|\sto)?"
    r"\s(?:retract|withdraw|revoke|revise|reverse|amend|reconsider|correct\s(?:myself|that|this|my)|change\s(?:my"
    r"|this|that|the)|take\s(?:it|that|this)\sback|no\slonger)"
    r"|I\s(?:have\s)?made\s(?:an?|my)\s(?:\w{1,12}\s)?(?:mistake|error)|I\s(?:got|had)\s(?:that|this|it)\swrong"
    r"|I\sspoke\stoo\ssoon|I\smean|(?:just\s)?kidding|rather(?=,)|wrong\s(?:verdict|label)|the\sopposite|not\sso\sfast"
    r"|do(?:n['\u2019]t|\snot)\scount\s(?:that|this|it|my\s\w{1,12}|the\sabove)(?=[\s*_\"')]{0,4}(?:[.!,;]|\Z))"
    rf"|(?:disregard|ignore|forget|discard|cancel|scratch|strike)\s(?:(?:that|this|it){_ENDS}|my|what\sI|the\s(?:(?:above"
    rf"|previous|preceding|former|last|first)\b|line|{_VERDICT}))"
    r"|looking\s(?:\w{1,12}\s){0,3}again"
    r"|(?:penalty|adjustment|bonus)[\s*_]{0,4}:[\s*_]{0,4}[+\u2212-]?(?=[1-9])\d{1,3}"
    rf"|(?:revis(?:ed|ion)|updated?|erratum|corrected|amended)(?:\s{_VERDICT})?[\s*_]{{0,4}}[:\uff1a]){_ENDS})"
)
"""Sentences that withdraw a verdict before them."""
_THAT = re.compile(
    rf"(?i:{_BEGINS}(?:that|this){_IS}\s{_OF_THE_VERDICT}{_ENDS}(?!\s(?:in|by|of|on|from|for|that|made|to|with)\b))"
)
_THAT_IS_WRONG = re.compile(
    rf"(?i:{_BEGINS}(?:nope|no(?=[,.:;!\u2014-]|\s*\Z)|(?:that|this)(?:{_ISNT}|{_IS}\s(?:simply\s)?{_WRONG})|(?:that|this|it)\s(?:should|must"
    rf"|ought)\s(?:\w{{1,12}}\s)?(?:have\sbeen|be|read)){_ENDS})"
)
_CONTRAST = re.compile(
    r"(?i:[\s*_\"')]{0,6}(?:but|however|yet|although|though|despite|regrettably|sadly|alas|even\sthough|nevertheless|nonetheless|still(?=,)"
    r"|unfortunately|except|only\sthat|that\s(?:said|being\ssaid)(?=,)|on\sthe\sother\shand"
    r"|aber|jedoch|allerdings|mais|cependant|toutefois|pero|sin\sembargo|ma|tuttavia|mas|maar|ale|\u043d\u043e|\u043e\u0434\u043d\u0430\u043a\u043e)(?![^\W_])|\s{0,6}(?:\u4f46|\u7136\u800c"
    r"|\u4e0d[\u8fc7\u904e]|\u53ef\u662f|\u3057\u304b\u3057|\u305f\u3060(?:\u3057|\u3001)|\u3067\u3082|\u3060\u304c|\ud558\uc9c0\ub9cc|\uadf8\ub7ec\ub098|\ub2e4\ub9cc))"
)
"""These three begin a sentence right behind a verdict."""
_BUT = re.compile(r"(?i:[\s*_\"')\]]{0,6}[,;(\u2014-]?\s{0,4}[(]?(?:but|yet|however|except)\b)")


def end_of_withdrawn(said: str) -> int:
    """Returns the place up to which a text is withdrawn: the start of the last words that take something back."""
    return (
        max((found.start() for pattern in (RETRACTION, _WITHDRAWN) for found in pattern.finditer(said)), default=-1) + 1
    )


def is_taken_back(said: str, last: int, *, is_score: bool, is_negative: bool) -> bool:
    """Returns True if the sentence behind a verdict's, which ends at `last`, makes less of it: That was a mistake. Other
    denials agree with a negative label, and what follows a score tells why it is not more.
    """
    if _THAT.match(said, last):
        return True
    if is_score:
        return False
    return _CONTRAST.match(said, last) is not None or (not is_negative and _THAT_IS_WRONG.match(said, last) is not None)


def is_qualified(said: str, end: int) -> bool:
    """Returns True if a `but` is right behind a label: PASS, but it crashed."""
    return _BUT.match(said, end) is not None
