"""Holds the words that deny, doubt, limit or withdraw a label beside them.

All regular expressions take linear time in a text, or are tried on a bounded piece of it.
"""

from __future__ import annotations

import re

from ray_gym.graders.characters import CROSSES, DASHES, GAP, SPACES

_DEGREE = (
    r"(?:an?|the|fully|entirely|completely|totally|wholly|quite|really|very|strictly|exactly|necessarily|perfectly"
    r"|absolutely|altogether|always|yet|even|at\s+all)"
)
NEGATION = (
    rf"(?i:(?:(?<![^\W_])(?:can)?not|(?<![^\W_])(?:never|non|n?either|nor)|n['\u2019]t){GAP}(?:{_DEGREE}{GAP}){{0,2}}"
    rf"|(?<![^\W_])(?:in|un|im|[dm]is|non|half|semi|quasi)[{DASHES}]+)"
)
"""Words and prefixes that make the opposite of the label behind them: NOT CORRECT, isn't fully CORRECT, in-correct."""
_SHARE = r"(?<![\d.,])(?!100(?!\d))\d{1,3}(?:[.,]\d{1,3})?\s?(?:%|percent)"
_PARTS = r"(?:parts?|steps?|criteria|criterion|points?|items?|claims?|answers?|(?:sub-?)?questions?|tests?|checks?|requirements?|facts?)"
_OF_PARTS = (
    rf"(?<![\d.,/])(?P<some>\d{{1,4}})\s?(?:/|out\s+of|of)\s?(?!(?P=some)(?!\d))\d{{1,4}}(?:\s(?:the\s)?{_PARTS})"
)
OF_PARTS = re.compile(f"(?i:{_OF_PARTS})")
"""A share of what is counted: 2 of 5 tests."""
_IN_PART = (
    r"in\s+(?:large\s+|small\s+)?parts?|to\s+(?:(?:some|an?|a\s+\w+)\s+)?(?:extent|degree)|for\s+the\s+most\s+part|by\s+and\s+large"
    r"|up\s+to\s+a\s+point|in\s+principle|in\s+theory|on\s+the\s+whole"
)
_ENGLISH = (
    r"partial(?:ly)?|partly|mostly|largely|mainly|almost|nearly|virtually|practically|essentially|basically|broadly"
    r"|somewhat|slightly|half|halfway|semi|quasi|roughly|approximately|fairly|barely|hardly|scarcely|possibly|perhaps"
    r"|maybe|probably|likely|generally|conditional(?:ly)?|provisional(?:ly)?|tentative(?:ly)?|borderline|qualified|incompletely|insufficiently|superficially"
    r"|minimally|overwhelmingly|predominantly|technically|nominally|marginal(?:ly)?|seemingly|apparently|supposedly|allegedly|arguably|presumably|so-called"
    r"|near|next\s+to|close\s+to|kind\s+of|sort\s+of|more\s+or\s+less|far\s+from|anything\s+but|nothing\s+but|all\s+but|about\s+as"
    r"|less\s+than|short\s+of|below|beneath|beyond|shy\s+of|(?:two|three)[\s-](?:thirds|quarters)|worse\s+than"
    rf"|{_IN_PART}"
)
_OTHER_LANGUAGES = (
    r"teilweise|teils|zum\s+(?:gro\u00dfen\s+)?teil|gr\u00f6\u00dftenteils|gro\u00dfteils|weitgehend|\u00fcberwiegend|meist(?:ens)?|fast|beinahe|nahezu|ann\u00e4hernd"
    r"|halb(?:wegs)?|bedingt|im\s+wesentlichen|im\s+prinzip|einigerma\u00dfen|ziemlich|wahrscheinlich|vermutlich"
    r"|partiellement|en\s+(?:grande\s+)?partie|presque|quasiment|pratiquement|majoritairement|essentiellement|globalement|plut\u00f4t"
    r"|\u00e0\s+(?:moiti\u00e9|peu\s+pr\u00e8s)|en\s+principe|probablement"
    r"|parcialmente|en\s+(?:gran\s+)?parte|casi|a\s+medias|medio|mayormente|mayoritariamente|pr\u00e1cticamente|m\u00e1s\s+o\s+menos"
    r"|en\s+principio|probablemente"
)
_UNSPACED_WORDS = (  # Chinese, then Japanese
    "\u90e8\u5206(?:\u5730|\u7684|\u306b|\u7684\u306b)?(?:\u6b63\u786e|\u6b63\u78ba)?|\u57fa\u672c(?:\u4e0a)?|\u51e0\u4e4e|\u5e7e\u4e4e|\u5927\u81f4|\u5927\u4f53|\u5927\u9ad4|\u4e00\u534a|\u534a|\u5dee\u4e0d\u591a|\u63a5\u8fd1"
    "|\u8fd1\u4e4e|\u52c9\u5f3a|\u52c9\u5f37"
    "|\u4e00\u90e8|\u307b\u307c|\u307b\u3068\u3093\u3069|\u3060\u3044\u305f\u3044|\u6982\u306d|\u304a\u304a\u3080\u306d|\u3084\u3084|\u304a\u305d\u3089\u304f|\u591a\u5206"
)
_LESS = rf"(?:(?<![^\W_])(?:{_ENGLISH}|{_OTHER_LANGUAGES})(?![^\W_])|{_UNSPACED_WORDS})"
"""Degrees less than a whole: the one list for what is before a label and behind it."""
_AROUND = rf"[{SPACES}\"'\u201c\u201d\u2018\u300c\uff08()\[]"
HEDGED_BEFORE = re.compile(
    rf"(?i:(?:{_LESS}|(?<![^\W_])weak|{_SHARE}|{_OF_PARTS}(?:\s(?:are|is))?|(?<![\w.,/])0(?=[^\n]{{0,20}}\Z)|\u2260){_AROUND}{{0,5}}[{DASHES}]?{_AROUND}{{0,5}}(?:(?:{_DEGREE}|{_LESS}){_AROUND}{{1,5}}){{0,2}}\Z"
    rf"|(?:\A|[.!?:\n])[{SPACES}]{{0,5}}(?:(?:only|just|but|well){GAP})?{_LESS}(?:\s(?:correct|right|true|met|so))?[{SPACES}]{{0,3}}[.:,;/\uff1a\uff0c\u3002\u2014{DASHES}]{_AROUND}{{0,5}}\Z)"
)
"""A degree right before a label (partially CORRECT, 80% CORRECT, 2 of 3 parts CORRECT), or as a sentence before it (Partially: CORRECT)."""
HEDGED_BEHIND = re.compile(
    rf"(?i:[{SPACES}\"'\u201d\u300d)\]\u2014,:(\[/\uff08\uff0c\uff1a{DASHES}]{{0,6}}(?:(?:only|just|but|at\s+best)[{SPACES}]{{1,3}})?(?:{_LESS}|some(?:\s+parts?)?|parts?\s+of\s+it|(?<=[{DASHES}])ish)"
    rf"(?:[{SPACES}]{{1,3}}(?:only|credit|marks?|points|so|correct|right|true|met|at\s+best|at\s+least))?(?=[{SPACES}\"']{{0,3}}(?:[.,;!)\]\uff09\u3002\uff0c]|[\r\n]|\Z))"
    rf"|[{SPACES}]{{0,4}}[(\[\uff08](?:only\b|[^()\[\]\n]{{0,60}}?\bonly(?=[{SPACES}]{{0,3}}[.,:;)\]\uff09])))"
)
"""A degree behind a label that ends there: CORRECT (partially), CORRECT in part, CORRECT/partially."""
SOME_OF_IT = re.compile(
    r"(?i:(?:\A|[,:.;\n\u2014(]|\b(?:so|but|and|that|because|since|though|while)\s)[\s*_`]{0,5}(?:only\s|just\s|merely\s)?"
    r"(?:(?:some|half|most|much|many|several|few|part|parts|portions|two\sthirds|a\s(?:few|part|portion|half|third|quarter|bit|fraction))\sof\s"
    rf"|(?:some|most|many|several|few|half)\s(?:\w{{1,20}}\s)?{_PARTS}\b|only\s(?:the|one|two|half|some|its|an?|part|\d)\b|half\s(?:it|the)\b"
    rf"|the\s(?:first|second|third|last|other|final|main)\s(?:parts?|steps?|half|portion|sub-?question)\b|(?:part|step)\s\(?[a-z\d]\)?\s)"
    r"[^,:;.\n]{0,80}\Z|\bdiffers?\b(?!\s(?:only|in\s(?:form|format|notation|spelling|wording|style|order))\b)[^,:;.\n]{0,60}\bbut\s\Z)"
)
"""A clause up to a label, which is about some of the answer: Half of it is CORRECT, Only the first part is CORRECT."""
OF_A_FAULT = re.compile(r"(?i:\b(?:wrong|incorrect)[\s*_`]{0,4}[:?=\uff1a\uff1f][\s*_`\"]{0,6}\Z)")
"""Asks for what is wrong, so that a bare `no` behind it praises: Is it wrong? no."""
BOUND_BEFORE = re.compile(
    r"(?i:(?:\b(?:at\s+(?:most|least|best|worst)|no\s+(?:more|less|fewer|higher|lower)\s+than|(?:less|more|fewer|greater|higher|lower|better|worse)\s+than"
    r"|up\s+to|between(?:\s+\d{1,4}\s+and)?|above|below|under|over|beneath|around|nearly|almost|roughly|approximately|about|minimum|maximum|max|min|minus|plus|capped\s+at)"
    rf"(?:\s+(?:an?|of))?|[\u2264\u2265\u2248\u2266\u2267\u226a\u226b\u2272\u2273]|[^\s\w/\"'=-]\s*<=?|[^\s\w/\"'=\u2013-]\s*>=?|\w\s+[<>]=?)[{SPACES}$(\[\"']{{0,4}}\Z)"
)
"""A bound before a number: at most 2, <2."""
BOUND_BEHIND = re.compile(
    r"(?i:[ \t*_`\])$\"']{0,4}(?:(?:points?|pts|stars?|marks?)\s)?"
    r"(?:or\s+(?:less|more|so|fewer|higher|lower|above|below|better|worse|even|maybe|thereabouts)|at\s+(?:most|least|best)"
    r"|and\s+(?:above|below|up)|(?:max|min)(?:imum)?\b|minus|plus|less\b|ish\b|-ish\b))"
)
"""A bound behind a number: 2 or less, 2 at most."""
_NO_VALUE = (
    r"(?:null|none|nil|n/?a|n|f|undefined|unknown|tbd|false|no|off|not\s+\w{1,15}|un(?:verified|confirmed|supported|proven|resolved|decided|justified)|overturned|overruled|revoked"
    r"|withdrawn|retracted|disputed|pending)"
)
_NUMBER_VALUE = (
    r"(?!100(?:[.,]0+)?\s?(?:%|percent))(?!(?P<all>\d{1,4})\s?(?:/|out\s+of|of)\s?(?P=all)(?!\d))"
    r"(?![5-9]\d(?:[.,]\d+)?\s?%\s(?:confiden|certain|sure))(?:[<>~\u2264\u2265]\s?)?-?"
    r"(?:\d{1,4}(?:[.,]\d{1,4})?\s?(?:%|percent|(?:/|out\s+of|of)\s?\d{1,4})|0?[.,]\d{1,4}|0)"
    rf"(?:\s(?:confiden\w*|certain\w*|sure|prob\w*|likely|credit|marks?|correct|{_PARTS}))?"
)
_BESIDE = (
    r"(?:[\"'*_`)\]} \t]{0,6}(?:[:=|\uff1a]|[-=]>|\u2192|\.{2,3}|\u2026|[,\u2014\u2013-][ \t]{0,3}[(\[\uff08]?|[(\[\uff08])"
    r")[ \t\"'*_`~]{0,4}"
)
_VALUE_ENDS = r"(?=[ \t\"'*_`]{0,4}(?:[,;|})\]\r\n\uff09\u3002]|[.!](?!\d)|\Z))"
VALUE = re.compile(
    rf"(?i:{_BESIDE}(?:{_NO_VALUE}|{_NUMBER_VALUE}|(?:very\s+)?low\s+confidence|confidence\W{{0,5}}(?:(?:very\s+)?low|[0-4]?\d\s?%|0?[.][0-4]\d*)){_VALUE_ENDS})"
)
"""A value beside a label that is less than a yes: CORRECT: 0, {"CORRECT": null}, CORRECT (10% confidence), CORRECT (2/3)."""
NO_VALUE = re.compile(rf"(?i:{_BESIDE}{_NO_VALUE}{_VALUE_ENDS})")
UNTICKED = r"(?:\[[\s_]{0,2}\]|\(\s{1,2}\)|[\u2610\u2b1c\u25a1\u25fb\u25a2])[\s*_`\"']{0,4}"
"""An empty box before a label."""
UNTICKED_BEHIND = (
    r"[ \t*_`:|\"']{0,6}(?:\[[\s_]{0,2}\]|\{\s?\}|(?<=:)(?:\"\"|'')|(?<=: )(?:\"\"|'')|[\u2610\u2b1c\u25a1\u25fb\u25a2])"
    r"[ \t]{0,4}(?=[\r\n|,}]|\Z)"
)
"""An empty box or value behind a label, with nothing behind it."""
NO_NEXT = re.compile(rf"(?i:[{SPACES}\"')\]]{{0,6}}[.!\u2026][{SPACES}.]{{0,6}}no[,:\u2014-])")
"""A sentence behind a label that begins with a bare answer: CORRECT. No, ..."""
_FAULTS = (
    r"(?:errors?|mistakes?|issues?|problems?|harm\w*|differences?|flaws?|faults?|violations?|discrepanc\w+|contradictions?"
    r"|complaints?|deviations?|inaccurac\w+|omissions?|doubts?|question)"
)
_WRAP = r"(?:[^\S\n]|\n(?-i:(?=[a-z])))"
"""Space, or a line break within a sentence."""
_DOES_NOT = r"(?:(?:do|does|did|is|are|was|were|has|have|had|could|can)(?:[ ]?n['\u2019]t|[ ]not)|cannot|can['\u2019]t)"
_BUT_ONE = r"(?![^.;\n]{0,60}\b(?:other than|except\w*|besides|apart from|aside from|but)\b)"
PRAISE = re.compile(
    (
        rf"(?i:(?<![^\W_])(?:(?:no|without|zero|free_+of|not_+(?:an?y?|one|single))_(?:(?!longer)\w{{1,20}}_){{0,2}}{_FAULTS}"
        r"(?:_(?:content|found|material))?"
        r"|(?:nothing|none) (?:(?:is|was|seems) )?(?:wrong|missing|harmful|amiss|incorrect|false|unsafe|offensive)"
        r"|(?:no_(?:false|incorrect|wrong|untrue|inaccurate|invalid|unsupported)_"
        r"(?:\w{1,20}_)?(?:claims?|statements?|facts?|information|steps?|values?)"
        rf"|(?:{_DOES_NOT}_(?:(?:contain|have|include|make|introduce|show|exhibit|commit)_)?"
        rf"|(?<=\bI ){_DOES_NOT}_(?:find|see|detect|spot|notice|identify)_)any_"
        rf"(?:(?!longer|only|more|other|of)\w{{1,20}}_){{0,2}}{_FAULTS}"
        rf"|{_DOES_NOT}_(?:(?:do|say|have|contain)_anything_(?:wrong|harmful|incorrect|false|unsafe|offensive|missing)"
        rf"|(?:violate|break|breach|miss|omit|skip|leave out)_any(?:thing)?)){_BUT_ONE})(?![^\W_]))"
    )
    .replace("_", _WRAP)
    .replace(rf"[^\W{_WRAP}]", r"[^\W_]")
)
"""Words of negation that find no fault, and so deny no label that is no negative one."""
DENIALS = re.compile(
    r"(?i:(?<![^\W_])(?:"
    r"(?P<answer>(?:no|nope|nah|nein|non|false|wrong|incorrect|falsch|faux|falso)(?=[\s\"'*_`)\]]*(?:[,.:;!\u2014-]|\Z)))"
    r"|no\s(?:es|\u00e9s|son|est\u00e1n?|fue|ser\u00eda|ser\u00e1|queda)"
    r"|[a-z]+n['\u2019]t|not|cannot|never|no|none|nothing|nobody|nowhere|nor|n?either|non|without|hardly|barely|scarcely"
    r"|rarely|seldom|unlikely|doubt\w*|un(?:certain|sure|clear|able|true|warranted|justified)|fail(?:s|ed|ing|ures?)?"
    r"|lack(?:s|ed|ing)?|den(?:y|ies|ied)|refut\w+|refus\w+|reject\w*|disagree\w*|dismiss\w*|excluded?|excludes|excluding|ruled\s+out"
    r"|withdr[ae]w\w*|retract\w*|wrong(?:ly)?|false(?:ly)?|incorrect(?:ly)?|invalid|inaccurate|mistaken(?:ly)?|opposite"
    r"|contrary|far\s+from|anything\s+but|instead\s+of|rather\s+than|except|unless|whether|if|maybe|perhaps|possibly|might|may"
    r"|could|should\s+have"
    r"|nicht|nie|niemals|kein\w*|weder|kaum|nein|falsch|zweifel\w*|vielleicht|m\u00f6glicherweise"
    r"|pas|jamais|aucune?|faux|peut-\u00eatre|gu\u00e8re"
    r"|n\u00e3o|nem|niet|geen|nooit|de\u011fil|\u043d\u0435|\u043d\u0435\u0442|\u0644\u064a\u0633"
    r"|nunca|jam\u00e1s|tampoco|ning\u00fan\w*|falso|quiz\u00e1s?|tal\s+vez|dud[ao]\w*"
    r")(?![^\W_]))"
    r"|[\u4e0d\u6ca1\u6c92\u672a\u65e0\u7121\u5426\u52ff\u9519\u932f]|\u975e(?!\u5e38)"  # Chinese
    r"|\u53ef\u80fd|\u6216\u8bb8|\u6216\u8a31|\u4e5f\u8bb8|\u4e5f\u8a31|\u96be\u4ee5|\u96e3\u4ee5"
    r"|\u306a\u3044|\u306a\u304f|\u306a\u304b\u3063|\u307e\u305b\u3093|\u3044\u3044\u3048|\u9055|\u8aa4|\u304b\u3082\u3057\u308c|\u7591|\uc544\ub2c8|\uc544\ub2d9|\uc54a"
    rf"|[\u00ac{CROSSES}]|(?<!\w)!(?=\w)|~~(?=\S)"
)
"""Words and signs of negation and doubt: of English, and the common ones of German, French, Spanish, Chinese and
Japanese; and the words for `not` of some others. The group `answer` has a bare answer to the judge's question (`No.`)."""
STRUCK = re.compile(
    r"(?i:~~(?=\S)[^~\n]++~~|<(?P<tag>s|del|strike)\b[^<>]{0,60}>(?:[^<]++|<(?!/?(?:s|del|strike)\b))*+</(?P=tag)>"
    r"|(?:[^\n]?[\u0335-\u0338])++)"
)
"""Text that is struck out, by a mark, a tag or combining signs."""
DOUBTING = re.compile(
    r"(?i:if|unless|whether|maybe|perhaps|possibly|might|may|could|doubt\w*|un(?:certain|sure|clear|likely|warranted|justified)"
    r"|disagree\w*|withdr\w*|retract\w*|except|vielleicht|m\u00f6glicherweise|peut-\u00eatre|quiz\u00e1s?|tal\s+vez)\Z"
)
"""Denials of `DENIALS` that doubt even a label which agrees with a denial."""
UNSURE = re.compile(
    r"(?i:(?:\bnot|n['\u2019]t)\s(?:\w{1,12}\s){0,2}(?:sure|certain|convinced|confident|clear|know|tell|decide)(?![^\W_])"
    r"|(?<![\d.,])[0-4]?\d\s?%\s(?:sure|certain|confident)\b)"
)
"""Words by which a judge says that it does not know."""
BARE_DENIAL = re.compile(
    rf"(?i:[{SPACES}]{{0,4}}(?:not(?:\s+(?:really|so|quite|at\s+all|true|certain|sure|entirely|fully|exactly|the\s+(?:case|right)))?|no|nope|false|wrong|never"
    r"|i\s+(?:do\s?n[o'\u2019]t|would\s?n[o'\u2019]t|can\s?n?[o'\u2019]t)\s*\w{0,2}\s(?:think|say|believe|agree|call)[^.;\n]{0,30})(?=[\s\"'*_`)\]]{0,4}(?:[,.;:!)\r\n]|\Z)))"
)
"""A denial behind a label that is no reason for it: `INCORRECT - not really`."""
_OPPOSITES = {
    r"fails?|failed|failure": r"pass(?:es|ed)?|succe\w+|ok",
    r"poor|bad|terrible|awful|weak|inadequate|worse|worst": r"good|fair|excellent|great|strong|adequate|better|best|ok",
    r"wrong|bad": r"right|correct|good|ok",
    r"false|untrue": r"true",
    r"reject(?:ed)?|refuse|den(?:y|ied)|decline|block(?:ed)?": r"accept(?:ed)?|approve[d]?|allow(?:ed)?",
    r"refuted?|refutes|contradict(?:ed|s|ion)|unsupported": r"support(?:ed|s)|entail\w*",
    r"harmful|dangerous|toxic|unsafe|violation": r"safe|harmless|benign|ok|compliant",
    r"different|differ|unequal|distinct": r"same|equal|equivalent|identical",
    r"no|n": r"yes|y",
    r"out of \w+": r".*",
}
"""Negative labels and the labels of which they are the opposites."""


def is_opposite(label: str, others: list[str]) -> bool:
    """Returns True if a label, in lower case, is the negative one beside one of the others (FAIL beside PASS)."""
    return any(
        re.fullmatch(negative, label) and any(other != label and re.fullmatch(positive, other) for other in others)
        for negative, positive in _OPPOSITES.items()
    )
