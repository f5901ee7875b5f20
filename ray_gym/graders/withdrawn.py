"""Finds answers that their author took back: struck through, denied before a box, or called wrong behind it."""

from __future__ import annotations

import re

from ray_gym.graders.extract import split_at_last_box

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
_CALLED_WRONG = re.compile(
    r"[\s(\[)\]}>\"'.:,;*_–—-]*+(?:[✗✘❌✖]|(?:(?:wait|hm{1,5}|oh|no|actually|sorry)\b[,.!\u2026]{0,4}\s+){0,3}"  # noqa: RUF001
    r"(?:(?:that|this|it|which|and|i)(?:['’]s)?\s+){0,2}(?:(?:is|was|seems|looks|(?:would|must)\sbe|has\sbeen)\s+)?"  # noqa: RUF001
    r"(?:(?!only)\w{1,30}ly\s+|an?\s+|the\s+){0,2}"
    rf"(?:{WRONG}|(?:is|was)n['’]t\s(?:the\s)?(?:correct|right|true|answer)|{_CANNOT_BE}|nope|no(?!\s))"  # noqa: RUF001
    r"(?:\s+(?:answer|choice|option|letter|one))?\s*+(?:\Z|[.,;:!?)\]–—-]|(?:because|since|as|so|but)\b))",  # noqa: RUF001
    re.IGNORECASE,
)
_STRUCK = re.compile(
    r"(?<![\w,;)\]}])~~(?=[^\s~])[^~\n]{0,500}~~(?![\w\\])|<(del|strike)>[^<]{0,500}</\1>|(?:\w[\u0335-\u0338])+"
    r"|\\(?:[bx]?cancel|sout|xout|st)\s?\{(?:[^{}]|\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+\}){0,500}+\}"
)
"""Text that is struck through, in Markdown, HTML, Unicode and LaTeX. Beside a value `~~` is a space of LaTeX (`1~~or~~2`)."""
_DENIED_BOX = re.compile(
    rf"({NOT}(?:\s(?:be|equal\sto|equal))?[\s$*_]{{0,9}}(?:\\[(\[]\s{{0,9}})?)\\(?:boxed|fbox)(?=\s*\{{)", re.IGNORECASE
)
_AROUND_A_BOX = re.compile(r"(?:[\s}$*_)]|\\[)\]])*+")


def without_struck(text: str) -> str:
    """Returns a text without what is struck through in it, which its author took back."""
    return _STRUCK.sub(" ", text)


def is_called_wrong(rest: str) -> bool:
    """Says whether the words behind an answer begin by calling it wrong."""
    return _CALLED_WRONG.match(rest) is not None


def split_at_standing_box(text: str) -> tuple[str | None, str]:
    r"""Returns the content of the last box that is neither struck through nor denied (`not \boxed{12}`), and the rest of
    the line behind it; None and "" without one. Whether that rest takes the box back, `is_called_wrong` says.
    """
    boxed, behind = split_at_last_box(_DENIED_BOX.sub(r"\1", without_struck(text)))
    line = behind.partition("\n")[0]
    return boxed, _AROUND_A_BOX.sub("", line, count=1)


def standing_box(text: str) -> str | None:
    """Returns the content of the last box that is not taken back; None if there is none."""
    boxed, behind = split_at_standing_box(text)
    return None if is_called_wrong(behind) else boxed
