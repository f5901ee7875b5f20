"""Says whether a short label behind a noun, as in `Response B`, is chosen by the words before it: what is only spoken of is no
verdict.
"""

from __future__ import annotations

import re

from ray_gym.graders.characters import MARKS

_NOUN = r"\b(?:response|answer|output|solution|assistant|agent)"
_NAME = re.compile(
    r"(?i:(?:\b(?:the|my|our)\s+(?:preferred|chosen)\s+|(?:\b(?:the|my|our|final|best|better|correct|right|winning|overall)\s+){0,3})"
    rf"{_NOUN}\s+{MARKS}{{0,12}}\Z)"
)
"""Ends the words before the name of one of several answers, or a score: the winner is *Response* A."""
_SHORT = re.compile(r"\W*\w{1,3}\W*")
"""Label that may be a name, a score, or yes or no."""
_STYLE = re.compile(r"\\[a-z]{4,7}\{")
_BESIDE = re.compile(
    rf"(?i:(?:{_NOUN}\s+{MARKS}{{0,12}}\w{{1,2}}{MARKS}{{0,12}}|\bbetween\s[^.!?\n]{{1,60}})\s+(?:and|or|nor)\s+{MARKS}{{0,12}}\Z)"
)
"""Ends the words before a second name: Response A and Response B."""
_NO_LEAD = re.compile(
    rf"(?i:\b(?:with|at|of|in|to|than|from|as|considered|evaluated|graded|scored|rated|marked)\s+{MARKS}{{0,12}}\Z)"
)
"""Ends words that lead to a label, but not to a name: the problem is with Response B."""
_NOT_NOW = re.compile(
    r"(?i:\b(?:initial|initially|original|originally|at\s+(?:first|the\s+(?:start|outset|beginning))|on\s+first"
    r"|first\s+(?:instinct|impression|thought|reaction|choice|guess|pick)|(?:I|we)\s+(?:had\s+)?first"
    r"|unless|if|(?:before|until|when|while|(?<!this\sis\s)(?<!that\sis\s)(?<!that['\u2019]s\s)why|how)(?![^\n]*,))\b"
    r"(?![^\n]*\b(?:but|however|now|so)\b))"
)
"""Words of what was chosen in thought, or at another time, and is not taken up again behind a `but`."""
_ADVERB = (
    r"(?:still|thus|then|therefore|hence|only|just|rather|much|now|hereby|once\s+again|overall"
    r"|(?!(?:near|initial|original|part|partial|previous|former|hard|scarce|bare|momentari|temporari|brief|rare|hypothetical|potential"
    r"|possib)ly\b)\w{3,12}ly)"
)
_HELPERS = (
    r"(?:(?:['\u2019](?:d|ll|m|ve)|\s+(?:do|would|will|must|am|have|can|should|shall|to|be|need|going|like|want|inclined|tend|tending"
    rf"|decided|forced|compelled|ended\s+up|confident\s+in|no\s+choice\s+but|{_ADVERB}))"
    r"(?<!would\shave)(?<!['\u2019]d\shave)(?<!should\shave)){0,6}"
)
"""Words between `I` and the verb. A participle behind `would have` chooses nothing."""
_I = (
    r"\b(?:I|we|let\s+me|let['\u2019]s)(?:(?:\s+(?:would|should)|['\u2019]d)\s+(?:still\s+|\w{3,12}ly\s+)?have\s+to)?"
    + _HELPERS
)
_SELECTS = (
    r"(?:(?:(?:recommend|suggest)\s+)?(?:prefer(?:red)?|favou?r(?:ed|ing)?|cho(?:o?se|osing|sen)|pick(?:ed|ing)?|select(?:ed|ing)?"
    r"|recommend(?:ed|ing)?|suggest|endorse|take|crown|submit|sid(?:e|ed|ing)\s+with|opt(?:ed|ing)?\s+for|vot(?:e|ed|ing)(?:(?:\s+is)?\s+for)?"
    rf"|lean(?:ed|ing)?(?:\s+(?:more|{_ADVERB}))?(?:\s+(?:towards?|to))?|towards?"
    r"|(?:go|going|went|stick|stay|settle[ds]?|settling|land|landed)\s+(?:for|with|on)|(?:decide[ds]?|deciding)\s+(?:for|on)"
    r"|(?:decide[ds]?|rule[ds]?|come\s+down|am)\s+in\s+favou?r\s+of|(?:am|was)\s+more\s+(?:convinced|persuaded|impressed)\s+by"
    r"|(?:give[ns]?|giving|gave|award(?:ed|ing)?|hand(?:ed|ing)?)\s+(?:it|this(?:\s+one)?)\s+to))"
)
_TAKES = (
    r"(?:(?:say|think|thought|believe|conclude|find|feel|judge|declare|guess|argue|certain|confident|sure)(?:\s+that)?"
    r"|get|got|obtain|reach|have|(?:arrive|come|came)\s+(?:at|to)|are\s+left\s+with)"
)
_PRIZE = (
    r"(?:edge|nod|win|vote|victory|advantage|preference|choice|pick|verdict|decision|crown|prize|award|first\s+place)"
)
_LIKE = r"(?:accurate|helpful|correct|complete|useful|convincing|preferable|reliable|truthful|informative)"
_CHOSEN = re.compile(
    rf"(?i:(?:{_I}\s+(?:{_SELECTS}|{_TAKES})"
    rf"|\b(?:leads?|led|makes?|made|leaves?|brings?)\s+(?:me|us)(?:\s+(?:to|with))?(?:\s+{_ADVERB})?(?:\s+{_SELECTS})?"
    rf"|(?:\A|[:;.!?\n]\s*|\b(?:I|we)\b[^.!?\n]{{1,90}}\b(?:and|but|so)\s+)(?:{_ADVERB}\s+)?{_SELECTS}"
    r"|\b(?:this|that|which)\s+(?:favou?rs|points\s+to|leads\s+to|leaves|yields|gives|earns|deserves|merits|warrants|justifies|implies"
    r"|corresponds\s+to|comes\s+down\s+to|tips\s+the\s+(?:balance|scales)\s+(?:towards?|in\s+favou?r\s+of))(?:\s+us)?"
    rf"|\b(?:evidence|balance|comparison|everything|criteria|all\s+of\s+this|scales)\s+(?:{_ADVERB}\s+)?"
    r"(?:favou?rs?|points?\s+to|tips?\s+(?:towards?|in\s+favou?r\s+of))"
    rf"|\b{_PRIZE}\s+(?:is\s+(?:for|that)|(?:(?:would|should)\s+)?go(?:es)?\s+(?:to|for|with)|falls\s+on|belongs\s+to"
    r"|leans?\s+(?:towards?|to)|to|for|(?:is\s+)?in\s+favou?r\s+of)"
    rf"|\b(?:best|better|strong(?:er|est)|superior|right|correct|winning|preferred|(?:more|most)\s+{_LIKE})"
    r"\s+(?:(?:answer|response|one|solution|output|choice)\s+)?(?:overall\s+)?(?:is|comes|came|was)\s+(?:the\s+one\s+)?"
    r"(?:(?:given|provided|written)\s+by|from)"
    r"|\badvantage|\b(?:would|should|must|has\s+to|can\s+only)\s+be|\b(?:clearly|definitely|certainly|obviously|probably|all\s+in\s+all"
    r"|on\s+balance|on\s+the\s+whole|in\s+my\s+(?:view|opinion)))"
    rf"\s+(?:that\s+)?(?:the\s+)?{MARKS}{{0,12}}\Z)"
)
"""Words with which the name of an answer is chosen."""
_RATED = re.compile(
    rf"(?i:(?:{_I}\s+(?:rat(?:e|ed|ing)|grad(?:e|ed|ing)|scor(?:e|ed|ing)|mark(?:ed|ing)?|give[ns]?|giving|gave|award(?:ed|ing)?"
    r"|assign(?:ed|ing)?|consider)|\b(?:score|rating|grade|mark)\s+(?:of|for))\s+"
    r"(?:(?:of|for|its|overall|first|quality|\w{2,14}(?:ness|ity|cy|ance|ence)|the|this|that)\s+){0,6}(?:the|this|that)\s+"
    rf"(?:(?:AI|given|final|overall|\w{{2,14}}['\u2019]s)\s+)?{_NOUN}\s+{MARKS}{{0,12}}\Z)"
)
"""Words with which a score is given to what is judged: I rate the helpfulness of this response 4."""
_AS_VERB = re.compile(rf"(?i:{_I}\s+(?:answer|output)\s+(?:with\s+)?{MARKS}{{0,12}}\Z)")
"""Ends words in which a noun is a verb: I would answer No."""
_IS_BEST = re.compile(
    rf"(?i:{MARKS}{{0,6}}(?:(?:is|was|as)\s+(?:(?:the|clearly|overall|slightly|much|far|simply|still|a\s+bit|marginally|significantly"
    r"|clear|my)\s+){0,3}(?:better|best|superior|stronger|preferable|winner|preferred)|wins)"
    r"(?:\s+(?:one|answer|response|choice|option|solution|overall|here))?"
    r"(?=[.,;:!)*]|\Z|\s+(?:than|because|as|since|and|but|due)\b))"
)
"""Words behind a name that call it the best."""
_TOLD = re.compile(
    r"(?i:\b(?:says?|said|claim(?:s|ed)?|argue[sd]?|thinks?|believes?|believed|holds?|suggests?|hopes?|pretends?|insist(?:s|ed)?"
    r"|assume[sd]?|assuming|see|prove|shown?|sure|certain|convinced)(?:\s+that)?\s+\Z)"
)
"""Words of someone else, or of what is not seen, before what they are about."""


def before_noun(words: str, label: str) -> str | None:
    """Returns what stands before the noun at the end of the words before a label of one to three letters; None if there is
    no noun.
    """
    named = _NAME.search(words) if _SHORT.fullmatch(label) else None
    return None if named is None or _AS_VERB.search(words) else words[: named.start()]


def is_chosen(words: str, noun: str, behind: str, *, is_led_to: bool) -> bool:
    """Says whether a noun and its label, as `the response A`, are chosen by the words before the noun or behind the label.

    is_led_to: True if those before lead to any label.
    """
    if _BESIDE.search(words) or _NOT_NOW.search(words):
        return False
    if re.search(r"[^\W_]", _STYLE.sub("", words)) is None:
        return True
    if is_led_to and not _NO_LEAD.search(words):
        return True
    is_best = _IS_BEST.match(behind) and (not _TOLD.search(words) or _CHOSEN.search(words))
    return bool(is_best or _CHOSEN.search(words) or _RATED.search(words + noun))
