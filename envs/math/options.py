r"""Reads problems with options in their text, as of contests: `$\textbf{(A)}\ 5 \qquad \textbf{(B)}\ 6 ...$`."""

from __future__ import annotations

import re
from collections.abc import Mapping

_STYLE = r"\\(?:text(?:bf|rm|sf)?|mathbf|mathrm|mathsf|bf|rm)\s?\{\s*"
_GAP = r"(?:\s|~|\\[ ,;:!]|\\q?quad(?![A-Za-z]))"
_LETTER = (
    rf"{_STYLE}\(?([A-J])\s?[).:]{{0,2}}{_GAP}*\}}\s?[).:]?"
    r"|\(([A-J])\)|(?<![A-Za-z\\])([A-J])[).:](?=[\s\\$~]|\Z)"
)
_MARK = re.compile(_LETTER)
_STYLED_WHOLE = re.compile(rf"{_STYLE}\(([A-J])\){_GAP}*([^{{}}\s\\][^{{}}]*)\}}")
"""Option that is in one style with its text."""
_CHOICE = re.compile(rf"(?:{_LETTER}|([A-J])(?![A-Za-z]))[\s~:]*(.*)", re.DOTALL)
_ONE_TEXT = re.compile(rf"{_STYLE}([^{{}}]*)\}}")
_SPACE = re.compile(r"\\(?:q?quad|enspace|thinspace|newline|hspace\*?\s?\{[^{}]*\})(?![A-Za-z])|\\\\|\\[ ,;:!]|[~$]")
_REASON = re.compile(r"[\s,;]+(?:because|since)\b.*", re.DOTALL)
_FEWEST = 3
"""Least number of options; fewer marks may be of something else."""


def options_in(question: str) -> dict[str, str]:
    """Returns the texts of the options with which a question ends, by letter; none if it has no three of them in order."""
    question = _unstyled(question)
    marks = [(_letter(found), found) for found in _MARK.finditer(question)]
    begin = max((at for at, (letter, _) in enumerate(marks) if letter == "A"), default=len(marks))
    run = [found for at, (letter, found) in enumerate(marks[begin:]) if letter == chr(ord("A") + at)]
    if len(run) < _FEWEST:
        return {}
    ends = [*(found.start() for found in run[1:]), len(question)]
    texts = [question[found.end() : end] for found, end in zip(run, ends, strict=True)]
    texts[-1] = texts[-1].strip().partition("\n")[0]  # an instruction may follow
    return {_letter(found): _bare_text(text) for found, text in zip(run, texts, strict=True)}


def choice_in(answer: str, options: Mapping[str, str]) -> tuple[str | None, str]:
    """Returns the letter of an option with which a bare answer begins, or None, and what is behind it, or all of it."""
    bare = _bare(_unstyled(answer))
    if (whole := _ONE_TEXT.fullmatch(bare)) is not None and not _CHOICE.fullmatch(bare):
        bare = whole[1].strip()
    found = _CHOICE.fullmatch(bare)
    return (_letter(found), _bare_text(found[5])) if found is not None and _letter(found) in options else (None, bare)


def without_reason(answer: str, options: Mapping[str, str]) -> str:
    """Returns a bare answer without the reason at its end, unless it is an option's text with it."""
    return answer if choice_in(answer, options)[1] in options.values() else _REASON.sub("", answer)


def option_of(expected: str, options: Mapping[str, str]) -> str | None:
    """Returns the letter of the option that is expected by its letter, its text or both; None if none is."""
    letter, text = choice_in(expected, options)
    if letter is not None:
        return letter if text in ("", options[letter]) else None
    same = [one for one, option in options.items() if option == text]
    return same[0] if len(same) == 1 else None


def _unstyled(text: str) -> str:
    return _STYLED_WHOLE.sub(r"(\1) \2", text)


def _bare_text(text: str) -> str:
    bare = _bare(text)
    whole = _ONE_TEXT.fullmatch(bare)
    return bare if whole is None else whole[1].strip()


def _letter(found: re.Match[str]) -> str:
    letter: str = next(filter(None, found.groups()[:4]))
    return letter


def _bare(text: str) -> str:
    return " ".join(_SPACE.sub(" ", text).split())
