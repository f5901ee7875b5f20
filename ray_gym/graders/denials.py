"""Finds words by which an author denies an answer: struck through, called wrong behind it, or disowned before it."""

from __future__ import annotations

import re

NOT = r"(?:\bnot|n['’]t|\bunlike|\brather than|\binstead of)\b"  # noqa: RUF001
"""Words that deny what stands behind them."""
WRONG = (
    r"(?:wrong|incorrect|false|invalid|ruled\sout|eliminated|excluded|impossible"
    r"|not\s(?:the\s|my\s|a\s)?(?:correct|right|true|possible|valid|answer)\b)"
)
"""Words that call an answer wrong."""
_CANNOT_BE = (
    r"(?:can(?:['’]?t|\s?not)|(?:could|would|wo)(?:n['’]t|\snot))\s"  # noqa: RUF001
    r"(?:be(?:\s(?:the\s)?(?:right|correct|true|valid|it|so|answer))?|work|fit)|(?:doesn['’]t|does\snot)\s(?:work|fit)"  # noqa: RUF001
)
_IS_IT_RIGHT = (
    r"(?:(?:is|was)\s(?:that|this|it)\s(?:really\s)?(?:right|correct|true|so|it|the\sanswer)"
    r"|(?:does|did)\s(?:that|this|it)\s(?:work|hold|fit|check\sout))(?=\?)"
)
_CALLED_WRONG = re.compile(
    r"[\s(\[)\]}>\"'.:,;?!*_–—-]*+(?:[✗✘❌✖]"  # noqa: RUF001
    rf"|(?:(?:(?:wait|hm{{1,5}}|oh|no|actually|sorry|but|however)\b|{_IS_IT_RIGHT})[,.!?\u2026]{{0,4}}\s+){{0,3}}"
    r"(?:(?:that|this|it|which|and|i)(?:['’]s)?\s+){0,2}(?:(?:is|was|seems|looks|(?:would|must)\sbe|has\sbeen)\s+)?"  # noqa: RUF001
    r"(?:(?!only)\w{1,30}ly\s+|an?\s+|the\s+){0,2}"
    rf"(?:{WRONG}|(?:is|was)n['’]t\s(?:the\s)?(?:correct|right|true|answer)|{_CANNOT_BE}|nope|no(?!\s)|not\s(?:quite|really)(?:\sright)?(?!\s+as\s\w+\s+as\b))"  # noqa: RUF001
    r"(?:\s+(?:answer|choice|option|letter|one))?\s*+(?:\Z|[.,;:!?)\]–—-]|(?:because|since|as|so|but)\b))",  # noqa: RUF001
    re.IGNORECASE,
)
_SAYS_NO = re.compile(
    r"(?:\\text\w*\s?\{)?[\s*_\"'(]*(?:no(?:pe)?|false|untrue|incorrect|wrong|invalid|impossible|not\s(?:correct|right|valid|possible|true))"
    r"[\s*_\"').!]*+\}?[\s*_.!]*+",
    re.IGNORECASE,
)
"""Answer that itself says that something is not so."""
_SAYS_THE_SAME = re.compile(
    rf"[\s*_>\"'.:,;]*(?:(?:this|that|it)(?:['\u2019]s|\s+(?:is|was))\s+(?:\w{{1,30}}ly\s+)?{WRONG}|not\strue)(?P<rest>.{{0,2000}})",
    re.IGNORECASE | re.DOTALL,
)
"""Words that say of the same matter that it is not so, and what is behind them."""
_LETTER = r"(?-i:[A-J])(?!['\u2019\[]|\w|\s(?!(?:because|since|as|for|not)\b)[a-z]|\s?=|\((?!\s))"
_GIVES_ANOTHER = re.compile(
    r"\b(?:yes|yeah|yep|affirmative|opposite|instead|wait|let\sme|reconsider|recheck)\b|\\(?:boxed|fbox)"
    r"|(?<!not\s)(?<!never\s)(?<!n['\u2019]t\s)(?<!were\s)(?<!if\s)(?<!to\sbe\s)\btrue\b"
    r"(?!\s(?:value|answer|number|one|count|statement|claim|reason)\b|['\u2019]s)|(?:\A|[.!?\n])\s{0,3}(?:but\s)?actually\b"
    r"|\b(?:it|answer|option|choice|one|letter)(?:['\u2019]s|\s(?:is|(?:must|should|would)\sbe))(?:\snow)?[^\w\n]{0,9}"
    rf"{_LETTER}|\b(?:answer|option|choose|pick|so|thus|hence|therefore|with|correct|right|final)[^\w\n]{{0,9}}{_LETTER}"
    rf"|(?:\A|\n)[^\w\n]{{0,9}}{_LETTER}[^\w\n]{{0,9}}(?=\n|\Z)"
    r"|(?<!\w)(?-i:[A-J])\)?\s(?:is|must\sbe)\s(?:the\s)?(?:right|correct|answer)\b|\A,\s[a-z]\s?=|\banswer\sis\s[$\\]{0,2}-?\d",
    re.IGNORECASE,
)
"""Words that give, or look for, another answer than `no`, also an option by its letter."""
_STRUCK = re.compile(
    r"(?<![\w,;)\]}])~~(?=[^\s~])[^~\n]{0,500}~~(?![\w\\])|<(del|strike)>[^<]{0,500}</\1>|(?:\w[\u0335-\u0338])+"
    r"|\\(?:[bx]?cancel|sout|xout|st)\s?\{(?:[^{}]|\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+\}){0,500}+\}"
)
"""Text that is struck through, in Markdown, HTML, Unicode and LaTeX. Beside a value `~~` is a space of LaTeX (`1~~or~~2`)."""
_GAP = r"[ \t*_`]{1,9}"
_NO_ANSWER = re.compile(
    r"(?:\b(?<!least )(?:wrong|incorrect|false|invalid|bad|impossible|erroneous|eliminated|excluded|rejected|ruled[ -]out)"
    rf"|(?:\bnot|n['’]t|\bnever)(?:{_GAP}(?:the|an?|my|correct|right|valid|possible|best)){{0,3}}"  # noqa: RUF001
    r"|\b(?:students?|users?|pupils?|his|her|their)"
    r"|\b(?!(?:let|here|there|that|it|what|question|problem|exercise|task|quiz|key|today|assistant|expert)['’])"  # noqa: RUF001
    rf"[^\W\d_]{{2,30}}(?:['’]s|(?<=s)['’]))(?:{_GAP}(?:final|possible|own|given))?{_GAP}\Z",  # noqa: RUF001
    re.IGNORECASE,
)
"""Words right before `answer` that call it wrong, or that of somebody else."""
_LONGEST_BEFORE = 100
_HEADS_ANOTHER = re.compile(
    rf"[\s*_#>-]*+(?:(?:an?|the)\s)?{WRONG}(?:[ \t*_]{{1,9}}[A-Za-z]{{1,12}}){{0,2}}[ \t*_]{{0,9}}[:\uff1a]"
    r"|\s*+[^.!?\n]{0,60}\banswer[ \t*_]{0,9}[:\uff1a]",
    re.IGNORECASE,
)
"""Words that call wrong what stands behind their colon."""


def without_struck(text: str) -> str:
    """Returns a text without what is struck through in it, which its author took back."""
    return _STRUCK.sub(" ", text)


def is_called_wrong(rest: str, answer: str = "") -> bool:
    """Says whether the words behind an answer begin by calling it wrong. An `answer` that itself says that something is not
    so (`False`, `No`) is not called wrong by words that say the same again: `This is wrong, because ...`.
    """
    if len(answer) <= _LONGEST_BEFORE and _SAYS_NO.fullmatch(answer) and says_the_same(rest):
        return False
    return _CALLED_WRONG.match(rest) is not None


def says_the_same(rest: str) -> bool:
    """Says whether the words behind an answer that says no, or names what is wrong, begin by saying the same again, and give
    no other answer behind that.
    """
    found = _SAYS_THE_SAME.match(rest)
    return found is not None and _GIVES_ANOTHER.search(found["rest"]) is None


def is_denied_below(behind: str, answer: str = "") -> bool:
    """Says whether the next words below an answer's line begin by calling it wrong, as `is_called_wrong` does. `Incorrect:`
    and `Wrong answer:` announce others.

    `behind`: the text from the end of that line on.
    """
    return is_called_wrong(behind, answer) and _HEADS_ANOTHER.match(behind) is None


def is_disowned(text: str, place: int) -> bool:
    """Says whether the words before a place of a text call the answer that is announced there wrong, or somebody else's:
    `Wrong answer:`, `The student's answer:`.
    """
    return _NO_ANSWER.search(text, max(0, place - _LONGEST_BEFORE), place) is not None
