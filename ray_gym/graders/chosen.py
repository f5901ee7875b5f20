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
    rf"(?i:\b(?:with|at|of|in|by|for|like|unlike|to|than|from|as|considered|evaluated|graded|scored|rated|marked)\s+{MARKS}{{0,12}}\Z)"
)
"""Ends words that lead to a label, but not to a name: the problem is with Response B."""
_NOT_NOW = re.compile(
    r"(?i:\b(?:initially|originally|at\s+(?:first|the\s+(?:start|outset|beginning))|on\s+(?:a\s+)?first|on\s+the\s+surface"
    r"|(?:first|initial|original)\s+(?:instinct|impression|thought|reaction|choice|guess|pick|preference|view|read|reading)"
    r"|superficial\s+(?:read|reading|look|glance)|(?:I|we)\s+(?:had\s+)?first|earlier|(?:normally|usually|otherwise),?\s+(?:I|we)"
    r"|unless|if|without\s+(?:this|that|the)|in\s+(?:an?|another|other)\s+(?:\w+\s+)?contexts?"
    r"|(?:before|until|when|while|(?<!is\s)(?<!['\u2019]s\s)(?<!reason\s)(?<!reasons\s)why|how)(?![^\n]*,))\b"
    r"(?![^\n]*\b(?:but|however|now|so)\b))"
)
"""Words of what was chosen in thought, or at another time, and is not taken up again behind a `but`."""
_ASPECTS = r"(?:style|tone|brevity|format(?:ting)?|length|concision|conciseness|clarity|coherence|creativity|readability|grammar|fluency)"
_NO_ASPECT = (
    r"(?!(?:in|on|for|from|at)\s+(?:conclusion|comparison|contrast|summary|short|sum|total|general|brief|fact|light|view|every|all|most|balance"
    r"|closer|me|my|our|its|their|both|a\s+scale|the\s+(?:end|whole|above|reasons?|basis|given)|that\s+basis"
    r"|(?:this|these|that|those)\s+(?:reasons?|case|comparison|pair|basis|account|prompt|task)|[^,.\n]{0,40}\b(?:overall|quality))\b)"
)
OF_AN_ASPECT = re.compile(
    rf"(?i:(?:\b(?:in\s+terms\s+of|when\s+it\s+comes\s+to|as\s+for|with\s+(?:respect|regard)\s+to|regarding|concerning"
    r"|in\s+(?:this|that|one|some|only\s+one)\s+(?:respect|regard|way|aspect)s?|stylistically|grammatically|superficially|visually"
    rf"|(?:on|for|in)\s+(?:pure\s+)?{_ASPECTS})\b|(?:\A|\n|[.;:]\s){MARKS}{{0,6}}{_ASPECTS}{MARKS}{{0,6}}:"
    rf"|(?:\A|\n|[.;:]\s){MARKS}{{0,6}}(?:(?:however|but|note\s+that),?\s)?{_NO_ASPECT}(?:in|on|for|from|at)\s[^,.;:\n]{{1,60}},)"
    r"(?!(?:[^\n]*\b(?:but|so|overall|quality)\b))[^.!?\n]{0,60}\Z)"
)
"""Words of a sentence that is about an aspect of what is judged: In terms of style, ..."""
_WAS_CHOSEN = re.compile(
    r"(?i:\b(?:before|until|at\s+first|initially)\b[^.!?\n]{1,80}"
    rf"\b(?:preferred|favou?red|chose|picked|selected|leaned|went|thought)\b(?:\s+\w{{1,8}}){{0,2}}\s+{MARKS}{{0,12}}\Z)"
)
_IS_QUOTED = re.compile(
    r"(?i:\b(?:instructions?|reads?|says?|saying|said|wrote|writes|judge|asks?)\s?:[^\n]{0,60}\Z|\b(?:(?:by|on|for)\s[^,.\n]{1,40}\salone|based\s+solely)\b"
    r"|\bhad\s+I\b|\bimagine\b|\bas\s+an?\s+(?:\w+\s+)?(?:reader|teacher|beginner|child|user|novice|expert|student)\b)"
)
"""These two end a choice of another time, of others, or of one part of what is judged."""
_OF_THE_WORSE = re.compile(
    r"(?i:\b(?:(?:loser|weak(?:er|est)|worse|worst|runner-up|(?:long|short)(?:er|est)\s+one|most\s+(?:errors|mistakes)"
    r"|second\s+(?:best|choice|place|pick))\b(?:\s+\w{1,12}){0,4}|(?<!to\s)(?<!for\s)(?:the|its)\s+(?:main\s+|only\s+)?(?:problem|issue)\s+(?:is|was)(?:\s+\w{1,12}){0,2})\s+\Z)"
)
_ADVERB = (
    r"(?:still|thus|then|therefore|hence|only|just|rather|much|now|hereby|once\s+again|overall"
    r"|(?!(?:near|initial|original|part|partial|previous|former|hard|scarce|bare|momentari|temporari|brief|rare|hypothetical|potential"
    r"|possib)ly\b)\w{3,12}ly)"
)
_HELPERS = (
    r"(?:(?:['\u2019](?:d|ll|m|ve)|\s+(?:do|would|will|must|am|have|can|should|shall|to|be|need|going|like|want|inclined|tend|tending"
    rf"|decided|forced|compelled|ended\s+up|confident\s+in|no\s+choice\s+but|{_ADVERB}))"
    r"(?<!would\shave)(?<!would['\u2019]ve)(?<!['\u2019]d\shave)(?<!should\shave)){0,6}"
)
"""Words between `I` and the verb. A participle behind `would have` chooses nothing."""
_I = (
    r"\b(?:I|we|let\s+me|let['\u2019]s)(?:(?:\s+(?:would|should)|['\u2019]d)\s+(?:still\s+|\w{3,12}ly\s+)?have\s+to)?"
    + _HELPERS
)
_SELECTS = (
    r"(?:(?:recommend\s+)?(?:prefer(?:red)?|favou?r(?:ed|ing)?|cho(?:o?se|osing|sen)|pick(?:ed|ing)?|select(?:ed|ing)?"
    r"|recommend(?:ed|ing)?|endorse|crown|submit|sid(?:e|ed|ing)\s+with|opt(?:ed|ing)?\s+for|vot(?:e|ed|ing)(?:(?:\s+is)?\s+for)?"
    rf"|lean(?:ed|ing)?(?:\s+(?:more|{_ADVERB}))?(?:\s+(?:towards?|to))?|towards?"
    r"|(?:go|going|went|stick|stay|settle[ds]?|settling|land|landed)\s+(?:for|with|on)|(?:decide[ds]?|deciding)\s+(?:for|on)"
    r"|(?:decide[ds]?|rule[ds]?|come\s+down|am)\s+in\s+favou?r\s+of|(?:am|was)\s+more\s+(?:convinced|persuaded|impressed)\s+by"
    r"|(?:give[ns]?|giving|gave|award(?:ed|ing)?|hand(?:ed|ing)?)\s+(?:it|this(?:\s+one)?)\s+to))"
)
_TAKES = (
    r"(?:(?:say|think|thought|believe|conclude|find|feel|judge|declare|guess|argue|determine|certain|confident|sure)(?:\s+that)?"
    r"|get|got|obtain|reach|have|arrive\s+at|are\s+left\s+with)"
)
_PRIZE = r"(?:edge|nod|win|vote|victory|preference|choice|pick|crown|prize|award|first\s+place)"
_LIKE = r"(?:accurate|helpful|correct|complete|useful|convincing|preferable|reliable|truthful|informative)"
_CHOSEN = re.compile(
    rf"(?i:(?:{_I}\s+(?:{_SELECTS}|{_TAKES})"
    rf"|\b(?:this|that|which|it)\s+(?:leads|led|makes|made)\s+(?:me|us)(?:\s+to)?(?:\s+{_ADVERB})?(?:\s+{_SELECTS})?"
    rf"|(?:\A|[:;.!?\n]\s*|\b(?:I|we)\b[^.!?\n]{{1,90}}\b(?:and|but|so)\s+)(?:{_ADVERB}\s+)?{_SELECTS}"
    r"|\b(?:this|that)\s+(?:favou?rs|points\s+to|leads\s+to|leaves|earns|deserves|merits|warrants|justifies|implies"
    r"|corresponds\s+to|comes\s+down\s+to|tips\s+the\s+(?:balance|scales)\s+(?:towards?|in\s+favou?r\s+of))(?:\s+us)?"
    rf"|\b(?:evidence|balance|comparison|everything|(?:the|all|both|most|these)\s+criteria|all\s+of\s+this|scales)\s+(?:{_ADVERB}\s+)?"
    r"(?:favou?rs?|tips?\s+(?:towards?|in\s+favou?r\s+of))"
    rf"|(?:\A|\n|[.,]\s|\b(?:the|my|our|an?|slight|clear|small|narrow|slim|overall|final)\s+){_PRIZE}\s+(?:is\s+(?:for|that)|(?:(?:would|should)\s+)?go(?:es)?\s+(?:to|for|with)|falls\s+on|belongs\s+to"
    r"|leans?\s+(?:towards?|to)|to|for|(?:is\s+)?in\s+favou?r\s+of)|\b(?:verdict|decision|judgment)\s+(?:is\s+(?:for|that|in\s+favou?r\s+of)|goes\s+(?:to|for))"
    r"|(?:\A|[.\n]\s?)(?:overall,?\s)?(?:(?:an?|the)\s)?(?:(?:slight|clear|small|overall|strong)\s)?(?:advantage|preference)(?:\s+goes)?(?:\s+(?:to|for))?"
    rf"|\bthe\s+(?:overall\s+)?(?:best|better|strong(?:er|est)|superior|right|correct|winning|preferred|(?:more|most)\s+{_LIKE})"
    r"\s+(?:(?:answer|response|one|solution|output|choice)\s+)?(?:overall\s+)?(?:is|comes|came|was)\s+(?:the\s+one\s+)?"
    r"(?:(?:given|provided|written)\s+by|from)"
    r"|\b(?:would|should|must|has\s+to|can\s+only)\s+be|\b(?:clearly|definitely|certainly|obviously|all\s+in\s+all"
    r"|on\s+balance|on\s+the\s+whole|in\s+my\s+(?:view|opinion)))"
    rf"\s+(?:that\s+)?(?:the\s+)?{MARKS}{{0,12}}\Z)"
)
"""Words with which the name of an answer is chosen."""
_RATED = re.compile(
    rf"(?i:(?:{_I}\s+(?:rat(?:e|ed|ing)|grad(?:e|ed|ing)|scor(?:e|ed|ing)|mark(?:ed|ing)?|give[ns]?|giving|gave|award(?:ed|ing)?"
    r"|assign(?:ed|ing)?|consider)|\b(?:score|rating|grade|mark)\s+(?:of|for))\s+"
    r"(?:(?:of|for|its|overall|first|quality|helpfulness|performance|the|this|that)\s+){0,6}(?:the|this|that)\s+"
    rf"(?:(?:AI|given|final|overall|model)\s+)?(?:\w{{2,14}}['\u2019]s\s+)?{_NOUN}\s+{MARKS}{{0,12}}\Z)"
)
"""Words with which a score is given to what is judged: I rate the helpfulness of this response 4."""
_AS_VERB = re.compile(rf"(?i:{_I}\s+(?:answer|output)\s+(?:with\s+)?{MARKS}{{0,12}}\Z)")
"""Ends words in which a noun is a verb: I would answer No."""
_IS_BEST = re.compile(
    rf"(?i:{MARKS}{{0,6}}(?:(?:is|was|as)\s+(?:(?:the|clearly|overall|slightly|much|far|simply|still|a\s+bit|marginally|significantly"
    r"|clear|my)\s+){0,3}(?:better|best|superior|stronger|preferable|winner|preferred)|wins)"
    r"(?:\s+(?:one|answer|response|choice|option|solution|overall|here))?"
    r"(?=[.,;:!)*]|\Z|\s+(?:than|because|as|since|and|due)\b)(?![^.!?\n]*\b(?:but|however|though|although)\b))"
)
"""Words behind a name that call it the best."""
_SEEMS = re.compile(
    rf"(?i:(?:{_I}\s+(?:rate|view|see|regard|consider)"
    r"|\b(?:it|this|that|which|there)(?:(?:\s+(?:is|was)|['\u2019]s)\s+(?:the\s+reason\s+)?(?:very\s+|quite\s+)?(?:clear|evident|obvious|apparent|plain|why|no\s+doubt)"
    r"|\s+(?:seems|appears|shows|means|follows|demonstrates|indicates|suggests|can\s+be\s+(?:concluded|said|seen)))(?:\s+(?:to\s+me|from\s+this))?(?:\s+that)?"
    r"|(?:\A|[.:;,\n]\s*|\b(?:and|but|so)\s+)(?:in\s+(?:sum|short|summary|conclusion|total|the\s+end|all)|overall|on\s+the\s+whole|on\s+balance"
    r"|for\s+(?:this|that|these|those)\s+reasons?|ultimately|probably|likely))"
    rf"\s+{MARKS}{{0,12}}\Z)"
)
"""Words before an answer that is then called better."""
_NO_CHOICES = (_BESIDE, _NOT_NOW, _WAS_CHOSEN, _IS_QUOTED, OF_AN_ASPECT, _OF_THE_WORSE)


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
    if any(one.search(words) for one in _NO_CHOICES):
        return False
    if re.search(r"[^\W_]", _STYLE.sub("", words)) is None:
        return True
    if is_led_to and not _NO_LEAD.search(words):
        return True
    is_best = _SEEMS.search(words) and _IS_BEST.match(behind)
    return bool(is_best or _CHOSEN.search(words) or _RATED.search(words + noun))
