"""Tokenises a rendered conversation so that participants' text never becomes control tokens.

A participant who writes `<|im_end|>` must not end a turn. Before a template is rendered, every string in the data that
spells a control token is exchanged for a placeholder character; after rendering, the placeholders are tokenised as
plain text, in two pieces, so that the tokenizer cannot see the control token in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_FIRST_PLACEHOLDER, _LAST_PLACEHOLDER = 0xF0000, 0xFFFFD  # a private-use plane, whose characters no text has a use for
_ANCHOR = "\n"
_MARKUP = re.compile(r"[<\[].*[>\]]", re.DOTALL)
_HTML = re.compile(
    r"</?(?:a|b|blockquote|br|caption|code|div|em|h[1-6]|hr|i|img|li|ol|p|pre|s|span|strong|sub|sup"
    r"|table|tbody|td|tfoot|th|thead|tr|u|ul)/?>",
    re.IGNORECASE,
)


class Placeholders:
    """The placeholders are the exchanges made in one rendering; the same literal always gets the same placeholder."""

    def __init__(self) -> None:
        self.literals: list[str] = []
        self._placeholder_of: dict[str, str] = {}

    def exchange(self, match: re.Match[str]) -> str:
        literal = match.group()
        if literal not in self._placeholder_of:
            self._placeholder_of[literal] = chr(_FIRST_PLACEHOLDER + len(self.literals))
            self.literals.append(literal)
        return self._placeholder_of[literal]

    def literal(self, placeholder: str) -> str:
        return self.literals[ord(placeholder) - _FIRST_PLACEHOLDER]


class TextTokenizer:
    """Wraps a Hugging Face tokenizer. It has no state of its own, so it is safe in threads."""

    def __init__(self, tokenizer: Any, templates: Iterable[str] = ()) -> None:
        """Finds the control strings. Text of the `templates` is control too, where the tokenizer has a token of its own
        for it.
        """
        self._tokenizer = tokenizer
        placeholders = [chr(_FIRST_PLACEHOLDER), chr(_LAST_PLACEHOLDER)]
        self._placeholder = re.compile(f"([{placeholders[0]}-{placeholders[1]}])")
        # Placeholder characters that are there already are exchanged too: then none is ever ambiguous.
        controls = _either(_control_strings(tokenizer, "".join(templates)))
        self._control = re.compile(f"{controls}|{self._placeholder.pattern}" if controls else self._placeholder.pattern)
        self._anchor = self._plain(_ANCHOR)
        self._needs_anchor = self._plain(_ANCHOR + "x") != self._anchor + self._plain("x")

    def protect(self, data: Any, placeholders: Placeholders) -> Any:
        """Returns the same nested data with the control strings in its text exchanged."""
        if isinstance(data, str):
            return self._control.sub(placeholders.exchange, data)
        if isinstance(data, dict):
            return {self.protect(key, placeholders): self.protect(value, placeholders) for key, value in data.items()}
        if isinstance(data, list):
            return [self.protect(item, placeholders) for item in data]
        return data

    def encode(self, rendered: str, placeholders: Placeholders, *, continued: bool = False) -> list[int]:
        """Returns the ids of a rendering; its control tokens are those that the template wrote. `continued`: other text
        comes before it.
        """
        ids: list[int] = []
        for piece in self.pieces(rendered) if placeholders.literals else [rendered]:
            spelled = self.spelled(piece, placeholders)
            if spelled is not piece:
                ids.extend(self._as_text(spelled))
            else:
                ids.extend(self._within_text(piece) if continued else self._plain(piece))
            continued = True
        return ids

    def pieces(self, rendered: str) -> list[str]:
        """Cuts a rendering around its placeholders, each of which is a piece."""
        return [piece for piece in self._placeholder.split(rendered) if piece]

    def spelled(self, piece: str, placeholders: Placeholders) -> str:
        """Returns the literal of a placeholder, and any other piece unchanged."""
        return placeholders.literal(piece) if self._placeholder.fullmatch(piece) else piece

    def _plain(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _within_text(self, text: str) -> list[int]:
        """Returns the ids of a piece that other text comes before: some SentencePiece models write a space at every
        beginning.
        """
        if not self._needs_anchor:
            return self._plain(text)
        ids = self._plain(_ANCHOR + text)
        return ids[len(self._anchor) :] if ids[: len(self._anchor)] == self._anchor else self._plain(text)

    def _as_text(self, literal: str) -> list[int]:
        """Returns the ids of a control string, broken after its first character, and again if the rest spells
        another.
        """
        if len(literal) < 2 or not self._control.search(literal):
            return self._within_text(literal)
        return self._within_text(literal[0]) + self._as_text(literal[1:])


def _control_strings(tokenizer: Any, templates: str) -> set[str]:
    """Returns special tokens, and added ones that mark something up (<|im_end|>, <tool_call>, </think>) or that a
    template writes.
    Others are words: some tokenizers have added tokens for HTML tags and for runs of spaces.
    """
    added = tokenizer.added_tokens_decoder.values()
    return {
        token.content
        for token in added
        if len(token.content.strip()) > 1
        and (
            token.special
            or token.content in templates
            or (_MARKUP.fullmatch(token.content) and not _HTML.fullmatch(token.content))
        )
    }


def _either(literals: Iterable[str]) -> str:
    """Returns a pattern for the longest of the literals. Thousands share their beginnings, and each is written once."""
    rests: dict[str, list[str]] = {}
    for literal in sorted(set(literals)):
        rests.setdefault(literal[:1], []).append(literal[1:])
    ends_here = rests.pop("", None) is not None
    if not rests:
        return ""
    branches = "|".join(re.escape(first) + _either(rest) for first, rest in rests.items())
    return f"(?:{branches}){'?' if ends_here else ''}"
