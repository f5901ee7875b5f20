"""Tells whether a label stands where a judge states its verdict, rather than in the midst of a sentence about it.

A list of words that take a verdict back (`had it`, `requires`, `short of`) can never be whole. So a label also has to
stand in one of the few ways in which verdicts are given: it begins its sentence or ends a lead such as `verdict:`, `is`,
`so` or `I rate it`, and what follows ends the sentence, or begins a reason.
"""

from __future__ import annotations

import re

from ray_gym.graders.characters import CROSSES, DASHES, MARKS, UNSPACED
from ray_gym.graders.chosen import before_noun, is_chosen
from ray_gym.graders.finder import POINTS
from ray_gym.graders.references import NAMED_REFERENCE, NAMES_THE_REFERENCE

_FILLER = (
    r"(?:an?|the|fully|entirely|completely|totally|wholly|quite|really|very|strictly|exactly|perfectly|absolutely|altogether"
    r"|always|both|all|also|too|still|indeed|clearly|plainly|obviously|definitely|certainly|overall|simply|just|now|hereby"
    r"|thus|hence|therefore|then|so|in\s+fact|factually|mathematically|numerically|logically|semantically|equally|most|more"
    r"|considered|deemed|judged|rated|marked|labell?ed|classified|graded|scored|counted|evaluated|as|to\s+be|at|of|with)"
)
_COPULA = (
    r"(?:is|are|was|were|(?:has|have)\s+been|(?:can|should|must|has\s+to|ought\s+to)\s+be"
    r"(?=\s+(?:\w+ly\s+)?(?:considered|deemed|judged|rated|marked|labell?ed|classified|graded|scored|counted|evaluated|given|awarded))"
    r"|(?:it|that|this|he|she|they|answer|response|verdict)['\u2019](?:s|re)|ist|sind|lautet|bleibt|est|sont|reste|es|son|queda|\u00e9|\u00e8|\u662f|\u70ba|\u4e3a)"
)
OF_A_VERDICT = (
    r"(?:verdict|answer|label|rating|grade|score|judgment|judgement|decision|conclusion|result|class|classification|category"
    r"|evaluation|assessment|ranking|output|choice|outcome|status|opinion|determination|mark|finding|winner|response|solution"
    r"|assistant|agent|urteil|antwort|note|ergebnis|r\u00e9ponse|r\u00e9sultat|respuesta|veredicto|resultado)"
    r"(?:\s+(?:of|here|would\s+be|(?:has\s+to|must|should)\s+be|will\s+be|remains|stays))?"
)
THEREFORE = (
    r"(?:so|hence|therefore|thus|then|consequently|accordingly|overall|finally|ultimately|altogether|and|but|yet|though|although"
    r"|also|daher|deshalb|somit|folglich|donc|ainsi|por\s+(?:lo\s+)?tanto|as\u00ed\s+que|ergo|\ub530\ub77c\uc11c)"
)
_OBJECT = (
    r"(?:it|this|that|them|these|those|both|the|its|his|her|their|my|your|our|final|overall|first|second|given|following|label|a"
    r"|[\w'\u2019]{0,24}(?:response|answer|solution|submission|reply|output|agent|assistant|customer|user|student|candidate|model"
    r"|conversation|chat|performance|behaviour|behavior|claim|statement|summary|translation|essay|text|work|pair|verdict|rating|score"
    r"|grade|label|mark|writing|manner|option)(?:s|['\u2019]s?)?|[A-Z]|\d)"
)
_JUDGES = (
    r"(?:(?<!have\s)(?<!to\s)(?:say|answer|choose|select|pick|give|assign|award|rate|grade|mark|score|judge|deem|consider|call"
    r"|label|classify|declare|conclude|find|vote(?:\s+for)?|go(?:ing)?\s+with|settle\s+on|stay\s+with|stick\s+with|output|report)"
    r"|(?:remained|stayed|received|earned|deserved|got|gave|gives|rates|scores|gets|receives|earns|deserves|merits|warrants|makes|remains|stays|stands|equals|becomes|means|indicates"
    r"|leads\s+(?:me\s+)?to|qualifies|counts|comes\s+to|corresponds\s+to|follows(?:\s+that)?|finds|judges|(?:ver)?gebe|\u0441\u0442\u0430\u0432\u043b\u044e)"
    r"|(?<!be\s)(?<!have\s)(?:considered|deemed|judged|rated|marked|labell?ed|classified|graded|scored|given|assigned|awarded|found"
    r"|chosen|selected))"
)
_AROUND = rf"(?:\\[a-z]{{4,7}}\{{|[+]|{MARKS})"
_LEAD = re.compile(
    rf"(?i:(?:[:=|,;/\uff1a\uff0c\u3001\u2192\u21d2\u2026\u2014]|[\u2705\u2714\u2611{CROSSES}]\ufe0f?|[-=]>|\.\.\.|(?<=\s)[{DASHES}]|[{''.join(UNSPACED)}]"
    rf"|\b(?:{_COPULA}|{OF_A_VERDICT}|{THEREFORE})(?:\s+{_FILLER}){{0,4}}|\b100\s?%){_AROUND}{{0,12}}\Z)"
)
_JUDGED = re.compile(rf"(?i:\b{_JUDGES}(?:\s+{_OBJECT}){{0,6}}(?:\s+{_FILLER}){{0,3}}{_AROUND}{{0,12}}\Z)")
"""These two end the words that lead to a verdict: a colon or another sign, `is`, a noun such as `verdict`, `so`; or `I rate
the answer`.
"""
_ONE_WORD = re.compile(rf"{MARKS}{{0,12}}[{DASHES}]?{MARKS}{{0,4}}(?P<word>[^\W_]+)(?:{MARKS}|[{DASHES}]){{1,12}}\Z")
_PREPOSITION = re.compile(
    r"(?i:for|to|of|if|from|without|towards?|unlike|being|until|till|than|between|with|like|versus|vs|beyond|against|requires?|missing|misses|lack\w*|lost|loses|omit\w*"
    r"|needs?|must|should|would|had|were|once|when|only|claims?|claimed)\Z"
)
_SUPPOSED = re.compile(
    rf"(?i:{MARKS}{{0,12}}(?:(?:had|were|should)\s+(?:it|this|that|he|she|they|the|an?|its|his|her|any|both|all)\b|suppos(?:e|ing)\b|assuming\b"
    r"|provided\b|in\s+order\s+to\b|to\s+(?:be|get|earn|reach|count|deserve|receive)\b|for\s+(?:an?\s|it\s+to|this\s+to|[\[(\"']+))|with\s+(?:an?|the|its)\s)"
)
"""Begins a sentence about what is not so: Had the sign been right, ..."""
_UNDER = re.compile(rf"(?i:{MARKS}{{0,12}}(?:with|without|under|when|once|to|for|by|at)\s)")
_AFTER_COMMA = re.compile(rf",{MARKS}{{0,12}}\Z")
"""These two begin and end a condition: With SI units, CORRECT."""
_CLAIMED = re.compile(
    r"(?i:\b(?:thinks?|says|said|claim(?:s|ed)|believes?|believed|assert(?:s|ed)|states|argue[sd]|assumes|pretends|suggests|hopes?)\s"
    rf"(?:that\s)?(?:[\w'\u2019]{{1,20}}\s){{1,3}}(?:is|are|was|were)(?:\s{_FILLER}){{0,2}}{MARKS}{{0,12}}\Z"
    rf"|\b(?:reference|expected|gold|ground[\s-]truth)\s(?:\w{{1,12}}\s)?(?:is|was)(?:\s{_FILLER}){{0,2}}{MARKS}{{0,12}}\Z)"
)
"""Begins what someone else holds: The student thinks it is CORRECT; or what the reference is."""
_JUDGED_BY_OTHERS = re.compile(
    r"(?i:\b(?:grader|judge|teacher|reader|marker|examiner|reviewer|student|author|people|some|many|most|anyone|someone|others?)s?"
    r"\s(?:would|might|may|could|will)\s[^.;:\n]{0,60}\Z)"
)
"""Begins a verdict of others: A lenient grader would mark it CORRECT."""
_OWN = re.compile(r"(?i:\b(?:I|we)\s+(?:\w{1,12}\s+)?(?:think|believe|say|hope|suggest|claim)\b)")
_FOLLOWS = re.compile(
    r"(?i:(?:because|since|as(?!\s+(?:long|far|soon|if|though|a\b))|so|and|but|for(?=\s+(?:the\s+following|these|this|all|its|his|her|their)\b)"
    r"|given|due|overall|here|according|based|per|although|though|however|while|which|whereas|then|now|again|indeed|too|also|or|throughout"
    r"|in\s+(?:all|every|this|that|full|light|view|the\s+(?:text|context|passage|document|source|sense|end))|on\s+(?:all|every|balance)|with\s+(?:respect|regard)"
    r"|by\s+(?:the|this|its|a|both|all|every|context|evidence)|from\s+the|it\s+is|they\s+are|wins|out\s+of\s+\d+"
    r"|(?:is|was)\s+(?:my|our|the\s+(?:right|correct|better|best|final|most|verdict|answer|label|clear|winner|stronger)|right|better|best|near|clear(?:ly)?|appropriate|warranted|justified|fitting|therefore|thus)"
    rf"|(?:an?\s+)?(?:final\s+)?(?:answer|response|solution|verdict|rating|score|label|grade|one|result|performance|reply|{POINTS})"
    rf"(?={MARKS}{{0,6}}(?:[.,;:!/\uff0c\u3002]|\Z|\b(?:because|since|as|and|so|for|to|here|overall|in|out|on|based|according)\b))"
    r"|weil|da|denn|und|aber|car|parce|puisque|et|mais|porque|pues|ya|y|pero|\uc785\ub2c8\ub2e4)(?![^\W_]))"
)
"""Words with which a sentence goes on after a verdict in it."""
_CONDITION = re.compile(
    r"(?i:(?:but\s+(?:for|not|only)|bar\s|only\s+(?:if|when|with|in|for|after|by|up|as|on)|provided|providing|assuming|supposing|(?:as|so)\s+(?:long|far)\s+as|once|until|till|apart|aside"
    r"|barring|save\s+for|up\s+to|with\s+the\s+exception|other\s+than|excepting|excluding|depending|subject\s+to|pending|minus|modulo"
    r"|by\s+(?:an?|any|some|most|many|other)\s(?:\w{1,15}\s){0,2}(?:grader|judge|reader|teacher|examiner|marker|reviewer|standard|measure|rubric|person|people)s?|at\s+(?:first|least|best|most)"
    r"|had\s+(?:it|this|that|he|she|they|the|an?|its)\b|(?:were|should)\s+(?:it|this|that|he|she|they|the|an?|its|units)\b"
    r"|(?:but|however|although|though|yet|albeit)\b[^.;\n]{0,60}?\b(?:incomplete|missing|misses|omits|only|partial\w*))(?![^\W_]))"
)
"""Words behind a label that make a condition or an exception of what follows."""
_WORSE = (
    r"(?:loser|losing|worse|worst|weaker|weakest|poorer|poorest|inferior|lesser|eliminated?|rejected|discard(?:ed)?|disqualified"
    r"|runner-up|(?:second|last)\splace|(?:less|least)\s(?:helpful|accurate|correct|useful|complete|detailed|relevant|preferred|good))"
)
_OF_THE_TWO = (
    r"(?:\s(?:one|answer|response|assistant|agent|model|option|candidate|solution|of|the|two|both|here|overall)\b){0,5}"
)
_LOSES_BEFORE = re.compile(
    rf"(?i:(?:\A|[^\w\s'\u2019{DASHES}]\s{{0,4}}|\n\s{{0,4}}|\b(?:so|hence|thus|therefore|and|but)\s)(?:(?:my|the|overall|final|clear)\s){{0,2}}"
    rf"{_WORSE}{_OF_THE_TWO}{MARKS}{{0,6}}(?:\b(?:is|was)\b|[:=|\uff1a\u2192]|[{DASHES}]>?)?{MARKS}{{0,12}}"
    rf"(?:(?:response|assistant|answer|model)\s)?{MARKS}{{0,6}}\Z)"
)
_LOSES_BEHIND = re.compile(
    rf"(?i:{MARKS}{{0,6}}(?:[,:(=\uff1a\u2014{DASHES}]|(?<=\s)){MARKS}{{0,4}}(?P<verb>(?:is|was)\s)?(?:(?:the|clearly|much|slightly|far)\s){{0,2}}"
    rf"(?:{_WORSE}{_OF_THE_TWO}(?(verb)|(?!{MARKS}{{0,4}}:))|loses|lost)(?={MARKS}{{0,4}}(?:[.,;:!]|\Z|\n)|[)\]]))"
)
"""These two name the answer that a judge does not prefer: Loser: A, A (eliminated)."""
_BELOW_BEFORE = re.compile(
    rf"(?:(?:(?<![\w</])(?:[A-Z]|\d)|[\])])[*_`\"']{{0,3}}(?:\s?(?:>{{1,3}}=?|[\u2265\u226b\u227b])\s?"
    rf"|,\s(?:then\s)?|\sthen\s)"
    rf"|(?:\A|\n){MARKS}{{0,6}}1[.)]\s{MARKS}{{0,6}}(?:\w{{2,12}}\s)?[A-Z\d]{MARKS}{{0,6}}(?:[:,\u2014{DASHES}][^\n]{{0,120}})?\n{MARKS}{{0,6}}2[.)]\s"
    rf"|\b(?i:second|2nd)\s?[:=]\s?){MARKS}{{0,4}}(?:[A-Z]\w{{2,12}}\s)?{MARKS}{{0,4}}\Z"
)
_BELOW_BEHIND = re.compile(
    rf"[*_`\"')\]]{{0,4}}\s?(?:<{{1,3}}=?|[\u2264\u226a\u227a])\s?{MARKS}{{0,4}}(?:[A-Z]\w{{2,12}}\s)?[A-Z\d](?![\w>])"
)
"""These two name an answer as below another one: B > A, A < B, and the second of a list."""
_SPELLED = re.compile(
    rf"(?i:(?:\A|[.\n])\s{{0,4}}(?:therefore,?\s|so,?\s|thus,?\s)?"
    rf"(?:my\s(?:final\s)?verdict(?:\sis|:)|(?:they|the\s(?:two\s)?answers|both(?:\sanswers)?)\sare)"
    rf"\s(?:{_FILLER}\s){{0,2}}(?:(?P<negative>different|unequal|not\s(?:the\ssame|equal|equivalent))"
    rf"|(?P<positive>same|equal|equivalent|identical))[,:]?\s\Z)"
)
"""Ends the words that say what a label in brackets behind them stands for: My final verdict is different [[A!=B]]."""
_WINDOW = 160
"""Largest number of characters that are looked at before a label, and behind it."""


def states_a_verdict(said: str, first: int, start: int, end: int, last: int) -> bool:
    """Returns True if the label from `start` to `end` stands as a verdict in its sentence, from `first` to `last`."""
    return _is_led_to(said, first, start, end) and _is_followed(said, end, last)


def spelled_before(said: str, first: int, start: int, *, is_negative: bool) -> int | None:
    """Returns where the words begin that say the same as a label in double brackets right behind them, or None."""
    if not said.startswith("[[", start):
        return None
    found = _SPELLED.search(said[max(0, first - 1, start - _WINDOW) : start])
    if found is None or (found["negative"] is not None) != is_negative:
        return None
    return start - len(found[0]) + found[0].lower().rfind((found["negative"] or found["positive"]).lower())


def names_the_loser(said: str, start: int, end: int) -> bool:
    """Returns True if the name of an answer from `start` to `end` is given as that of the worse one: Loser: A."""
    before = _LOSES_BEFORE.search(said, max(0, start - _WINDOW), start)
    return before is not None or _LOSES_BEHIND.match(said, end) is not None


def is_ranked_below(said: str, start: int, end: int) -> bool:
    """Returns True if the name of an answer from `start` to `end` stands below another one: B > A."""
    below = _BELOW_BEFORE.search(said, max(0, start - _WINDOW), start)
    return below is not None or _BELOW_BEHIND.match(said, end) is not None


def _is_led_to(said: str, first: int, start: int, end: int) -> bool:
    if _SUPPOSED.match(said, first) or (
        _UNDER.match(said, first) and _AFTER_COMMA.search(said, max(first, start - 16), start)
    ):
        return False
    begin = max(first, start - _WINDOW)
    if not re.search(r"[^\W_]", said[begin:start]):
        return True
    word = _ONE_WORD.match(said[first:start]) if start - first <= _WINDOW else None
    if word:
        return not (_PREPOSITION.match(word["word"]) or NAMED_REFERENCE.search(said, begin, start))
    if NAMED_REFERENCE.search(said, begin, start) or _JUDGED_BY_OTHERS.search(said, begin, start):
        return False
    if _CLAIMED.search(said, begin, start) and not _OWN.search(said, begin, start):
        return False
    words = said[begin:start]
    spoken = before_noun(words, said[start:end])
    if spoken is not None:
        return is_chosen(
            spoken, words[len(spoken) :], said[end : end + _WINDOW], is_led_to=_LEAD.search(spoken) is not None
        )
    return _LEAD.search(words) is not None or _JUDGED.search(words) is not None


def _is_followed(said: str, end: int, last: int) -> bool:
    """Returns True if a sentence ends behind the label, goes on with a sign, or with words that follow a verdict."""
    rest = said[end : min(last, end + _WINDOW)]
    words = re.match(rf"(?:{MARKS}|[,:.!;|=/>\u2026\u2014\uff0c\uff1a{DASHES}]){{0,24}}", rest)
    at = words.end() if words else 0
    if _CONDITION.match(rest, at) or NAMES_THE_REFERENCE.match(said, end):
        return False
    spaced = re.match(r"[^\W_]", rest[at:]) and not re.match(f"[{''.join(UNSPACED)}]", rest[at:])
    sign = re.search(rf"[,:.!;|=/(\[<\u2026\u2014\uff0c\uff1a\uff08{DASHES}]", rest[:at])
    if said[end - 1] in "]>)}" and rest[at : at + 1].isupper():
        return True
    return not spaced or sign is not None or _FOLLOWS.match(rest, at) is not None
