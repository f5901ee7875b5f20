"""Fills the prompt of a judge, which is a text with named places, so that the texts in it can't act as anything else.

Each text stands between fences that don't occur in it, it is never read as a template, and labels in it are broken up.
So a judge that quotes it does not give its verdict by that. Single letters and numbers are not broken up: without them
there would be nothing to judge.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass

from ray_gym.graders.finder import pattern_of
from ray_gym.graders.grader import wrong_argument

_BACKQUOTES = re.compile("`+")
_WORD = re.compile(r"[^\s_*`~-]+")
_LEFT_OUT = "\N{WHITE SQUARE}"
_PLAIN = re.compile(r"\s*(?:\w|[-+]?\d+(?:[.,]\d+)?)\s*")
"""Label that is one letter or a number: texts have too many of them, and say too little without."""
_FENCED = re.compile(r"^(`{3,})\n(.*?)\n\1$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """A judge's prompt is a text with each name of `places` in braces, at least once: `"... {question} ..."`. Other
    braces are doubled.

    Errors: ValueError that says what is wrong with the text.
    """

    text: str
    """The text with its places."""
    places: tuple[str, ...]
    """Names of the places."""

    def __post_init__(self) -> None:
        wanted = ", ".join(f"{{{place}}}" for place in self.places)
        try:
            found = [(name, spec, conversion) for _, name, spec, conversion in string.Formatter().parse(self.text)]
        except ValueError as error:
            raise ValueError(f"{error}; the places are {wanted}, and other braces are written twice") from None
        for name, spec, conversion in found:
            if name is not None and (name not in self.places or spec or conversion):
                raise ValueError(f"{{{name}}} is none of its places, {wanted}; other braces are written twice")
        missing = [f"{{{place}}}" for place in self.places if place not in {name for name, _, _ in found}]
        if missing:
            raise ValueError(f"missing: {', '.join(missing)}; the places are {wanted}")

    def filled(self, labels: Iterable[str] = (), **material: str) -> str:
        """Returns the prompt with `material` in its places. `labels` are the judge's possible labels, which are broken
        up in the material, but for single letters and numbers.

        Errors: ValueError if a place has no material, or material no place; TypeError if it is no text.
        """
        for name in sorted({*self.places, *material}):
            if name not in material:
                raise ValueError(f"JudgePrompt: nothing is given for {{{name}}}")
            if name not in self.places:
                wanted = ", ".join(f"{{{place}}}" for place in self.places)
                raise ValueError(f"JudgePrompt: {{{name}}} is none of its places, {wanted}")
            if not isinstance(material[name], str):
                raise wrong_argument(f"JudgePrompt: {name}", material[name], "a text")
        return self.text.format(**{name: fence(break_labels(labels, text)) for name, text in material.items()})


def fence(text: str) -> str:
    """Returns a text between two lines of backquotes. The lines are longer than any row of backquotes in the text."""
    longest = max((len(row) for row in _BACKQUOTES.findall(text)), default=0)
    line = "`" * max(3, longest + 1)
    return f"{line}\n{text}\n{line}"


def fenced_texts(prompt: str) -> list[str]:
    """Returns the texts between the fences of a prompt, in order, for scripted judges."""
    return [text for _, text in _FENCED.findall(prompt)]


def break_labels(labels: Iterable[str], text: str) -> str:
    """Returns a text with a space in the middle of each label that is no part of a longer word or number, however the words
    of the label are spaced. A label of several words with one character each is replaced by a sign. Labels that are one
    letter or a number stay as they are.
    """
    for label in labels:
        if not _PLAIN.fullmatch(label):
            text = re.sub(pattern_of(label), _broken, text)
    return text


def _broken(found: re.Match[str]) -> str:
    """Returns a label that was found with a space in the middle of its longest word, and one behind its first bracket, as
    spaces within brackets make no other label.
    """
    longest = max(_WORD.finditer(found[0]), key=lambda word: len(word[0]), default=None)
    if longest is None or len(longest[0]) < 2:
        return _LEFT_OUT
    middle = longest.start() + len(longest[0]) // 2
    broken = f"{found[0][:middle]} {found[0][middle:]}"
    return broken.replace("[", "[ ", 1)
