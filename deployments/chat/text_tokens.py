"""Tokenises a rendered conversation so that participants' text never becomes control tokens.

A participant who writes `<|im_end|>` must not end a turn. Before a template is rendered, every string in the data that
spells a control token is replaced by a placeholder character. After rendering, the placeholders' literals are tokenised
as plain text, in two pieces, so that the tokenizer does not find the control token in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_FIRST_PLACEHOLDER, _LAST_PLACEHOLDER = 0xF0000, 0xFFFFD  # a private-use plane of Unicode
_ANCHOR = "\n"
_MARKUP = re.compile(r"[<\[].*[>\]]", re.DOTALL)
_HTML = re.compile(
    r"</?(?:a|b|blockquote|br|caption|code|div|em|h[1-6]|hr|i|img|li|ol|p|pre|s|span|strong|sub|sup"
    r"|table|tbody|td|tfoot|th|thead|tr|u|ul)/?>",
    re.IGNORECASE,
)


class Placeholders:
    """Holds the placeholders of one rendering, one for each literal that was replaced."""

    def __init__(self) -> None:
        self.literals: list[str] = []
        self._placeholder_of: dict[str, str] = {}

    def exchange(self, match: re.Match[str]) -> str:
        """Returns the placeholder of the text that a match found, a new one for a new text. It is a replacement
        function for `re.sub`.
        """
        literal = match.group()
        if literal not in self._placeholder_of:
            self._placeholder_of[literal] = chr(_FIRST_PLACEHOLDER + len(self.literals))
            self.literals.append(literal)
        return self._placeholder_of[literal]

    def literal(self, placeholder: str) -> str:
        """Returns the text that a placeholder replaces."""
        return self.literals[ord(placeholder) - _FIRST_PLACEHOLDER]


class TextTokenizer:
    """Wraps a Hugging Face tokenizer. It does not change after its construction, so it is safe in threads."""

    def __init__(self, tokenizer: Any, templates: Iterable[str] = ()) -> None:
        """Finds the control strings. Added tokens that the `templates` write count as control strings, too."""
        self._tokenizer = tokenizer
        placeholders = [chr(_FIRST_PLACEHOLDER), chr(_LAST_PLACEHOLDER)]
        self._placeholder = re.compile(f"([{placeholders[0]}-{placeholders[1]}])")
        # Placeholder characters in the data are replaced, too: so those in the rendering are never ambiguous.
        controls = _alternation(_control_strings(tokenizer, "".join(templates)))
        self._control = re.compile(f"{controls}|{self._placeholder.pattern}" if controls else self._placeholder.pattern)
        self._anchor = self._encode_plain(_ANCHOR)
        self._needs_anchor = self._encode_plain(_ANCHOR + "x") != self._anchor + self._encode_plain("x")

    def protect(self, data: Any, placeholders: Placeholders) -> Any:
        """Returns a copy of nested data in which placeholders replace the control strings of all its texts, keys of
        dicts included. `placeholders` takes up the new ones.
        """
        if isinstance(data, str):
            return self._control.sub(placeholders.exchange, data)
        if isinstance(data, dict):
            return {self.protect(key, placeholders): self.protect(value, placeholders) for key, value in data.items()}
        if isinstance(data, list):
            return [self.protect(item, placeholders) for item in data]
        return data

    def encode(self, rendered: str, placeholders: Placeholders, *, continued: bool = False) -> list[int]:
        """Returns the ids of a rendering, in which only the template's own control strings become control tokens.

        `continued`: True if other text comes before it.
        """
        ids: list[int] = []
        for piece in self.pieces(rendered) if placeholders.literals else [rendered]:
            spelled = self.spell_out(piece, placeholders)
            if spelled is not piece:
                ids.extend(self._encode_broken(spelled))
            else:
                ids.extend(self._encode_continued(piece) if continued else self._encode_plain(piece))
            continued = True
        return ids

    def pieces(self, rendered: str) -> list[str]:
        """Returns a rendering in pieces: each placeholder is one, and each text between them."""
        return [piece for piece in self._placeholder.split(rendered) if piece]

    def spell_out(self, piece: str, placeholders: Placeholders) -> str:
        """Returns the literal of a placeholder, and any other piece unchanged."""
        return placeholders.literal(piece) if self._placeholder.fullmatch(piece) else piece

    def _encode_plain(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _encode_continued(self, text: str) -> list[int]:
        """Returns the ids of text that follows other text: some SentencePiece models would put a space before it."""
        if not self._needs_anchor:
            return self._encode_plain(text)
        ids = self._encode_plain(_ANCHOR + text)
        return ids[len(self._anchor) :] if ids[: len(self._anchor)] == self._anchor else self._encode_plain(text)

    def _encode_broken(self, literal: str) -> list[int]:
        """Returns the ids of a control string as plain text: it is broken after its first character, and again if the
        rest contains another control string.
        """
        if len(literal) < 2 or not self._control.search(literal):
            return self._encode_continued(literal)
        return self._encode_continued(literal[0]) + self._encode_broken(literal[1:])


def _control_strings(tokenizer: Any, templates: str) -> set[str]:
    """Returns the strings of special tokens, and of added tokens that are markup (<|im_end|>, <tool_call>, </think>) or
    that a template writes; none of a single character.

    Other added tokens are plain text: some tokenizers have them for HTML tags and for runs of spaces.
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


def _alternation(literals: Iterable[str]) -> str:
    """Returns a regular expression that matches the longest of the literals at a place; "" if there are none. It is a
    trie, as thousands of literals share their beginnings.
    """
    rests: dict[str, list[str]] = {}
    for literal in sorted(set(literals)):
        rests.setdefault(literal[:1], []).append(literal[1:])
    ends_here = rests.pop("", None) is not None
    if not rests:
        return ""
    branches = "|".join(re.escape(first) + _alternation(rest) for first, rest in rests.items())
    return f"(?:{branches}){'?' if ends_here else ''}"
