"""Finding the letter that an answer chose. Every reader gives None where it can't tell that exactly one option was chosen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from ray_gym.graders import folded, last_boxed

Grading = Literal["strict_boxed", "lenient_boxed", "answer_colon", "answer_colon_markdown"]
Options = Mapping[str, str]
"""The options' texts by letter."""

_TEXT = re.compile(r"\\text\s*\{(.*)\}", re.DOTALL)
_ONLY_A_LETTER = re.compile(r"[\s(\[]*([A-Za-z])[\s)\].:,;]*")
_ANSWER = re.compile(r"(?<![A-Za-z])answer[ \t]*:", re.IGNORECASE)
_MARKDOWN_ANSWER = re.compile(r"(?<![A-Za-z])answer[ \t*_`]*:", re.IGNORECASE)
_MARKS = re.compile(r"[*_`$]")
_REASON = r"(?:because|since|as(?! well))\b"
_LETTER_FIRST = re.compile(rf"[(\[]?([A-Z])(?:[ \t]*[)\].:,;–—-]+|[ \t]+(?={_REASON}))(.*)")  # noqa: RUF001
_GIVES_A_REASON = re.compile(rf"[ \t]*{_REASON}")
_LETTER_ALONE = re.compile(r"(?<![A-Za-z'’])[A-Z](?![A-Za-z'’])")  # noqa: RUF001
_ALTERNATIVE = re.compile(r"(?:\b(?:or|maybe|perhaps|possibly)\b|/)[ \t,]*[(\[]?([A-Z])(?![A-Za-z'’])")  # noqa: RUF001
_PRONOUN = re.compile(
    r"\bI(?=[ \t]+(?!(?:or|and|also|as|too|is|are|was|were|may|might|could|would|seems|instead)\b)[a-z])"
)


def strict_boxed(text: str, options: Options) -> str | None:
    r"""The last `\boxed{}` holds an option's letter and nothing else; `\text{}` around it is taken off."""
    boxed = _boxed(text)
    return boxed if boxed in options else None


def lenient_boxed(text: str, options: Options) -> str | None:
    r"""The last `\boxed{}` holds a letter in any dress, or the text of exactly one option."""
    boxed = _boxed(text)
    return letter_or_text(boxed, options) if boxed is not None else None


def answer_colon(text: str, options: Options) -> str | None:
    """Behind the last `Answer:`, on its line, stands a letter in any dress, or the text of exactly one option."""
    behind = _behind_last(_ANSWER, text)
    return letter_or_text(behind.partition("\n")[0], options) if behind is not None else None


def answer_colon_markdown(text: str, options: Options) -> str | None:
    """The same with Markdown's marks, perhaps on a line below, and words behind the letter; but not with another letter among them."""
    behind = _behind_last(_MARKDOWN_ANSWER, text)
    if behind is None:
        return None
    line = _MARKS.sub("", behind).lstrip(" \t\r\n#>").partition("\n")[0].strip()
    found = letter_or_text(line, options)
    return found if found is not None else _first_letter(line, options)


READERS: Mapping[Grading, Callable[[str, Options], str | None]] = {
    "strict_boxed": strict_boxed,
    "lenient_boxed": lenient_boxed,
    "answer_colon": answer_colon,
    "answer_colon_markdown": answer_colon_markdown,
}


def letter_or_text(found: str, options: Options) -> str | None:
    """An option's letter, small or large, in brackets or with a full stop; else the letter of the one option with this text."""
    dressed = _ONLY_A_LETTER.fullmatch(found)
    if dressed is not None and dressed[1].upper() in options:
        return dressed[1].upper()
    same = [letter for letter, option in options.items() if _compared(option) == _compared(found)]
    return same[0] if len(same) == 1 else None


def _boxed(text: str) -> str | None:
    boxed = last_boxed(text)
    while boxed is not None and (wrapped := _TEXT.fullmatch(boxed)) is not None:
        boxed = wrapped[1].strip()
    return boxed


def _behind_last(pattern: re.Pattern[str], text: str) -> str | None:
    ends = [found.end() for found in pattern.finditer(text)]
    return text[ends[-1] :] if ends else None


def _first_letter(line: str, options: Options) -> str | None:
    """`B) 12 km` and `B, since ...` choose B. `A or B` chooses nothing, nor does `A, perhaps B`."""
    found = _LETTER_FIRST.fullmatch(line)
    if found is None or found[1] not in options:
        return None
    letter, rest = found[1], found[2]
    rivals = [other for other in _named(rest) if other in options and other != letter]
    return letter if not rivals or _compared(rest) == _compared(options[letter]) else None


def _named(rest: str) -> list[str]:
    """The letters that may be chosen, too: in a reason, which may say of others that they are wrong, only what is an alternative."""
    pattern = _ALTERNATIVE if _GIVES_A_REASON.match(rest) else _LETTER_ALONE
    return pattern.findall(_PRONOUN.sub("", rest))


def _compared(text: str) -> str:
    return folded(text).rstrip(".")
