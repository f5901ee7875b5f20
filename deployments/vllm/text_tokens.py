"""Tokenising a rendered conversation in which text is only ever text.

A participant who writes `<|im_end|>` must not end a turn. Before a template is rendered, every string in the data that spells
a control token is exchanged for a placeholder character; after rendering, the placeholders are tokenised as plain
text, in two pieces, so that the tokenizer cannot see the control token in them.
"""

from __future__ import annotations

import re
from typing import Any

_FIRST_PLACEHOLDER = 0xF0000  # a private-use plane: 65,534 code points that no text has a use for


class Placeholders:
    """The exchanges made in one rendering; the same literal always gets the same placeholder."""

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
    """Wraps a Hugging Face tokenizer. Stateless beyond it, so safe in threads."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        controls = sorted(_control_strings(tokenizer), key=len, reverse=True)
        placeholders = f"[{chr(_FIRST_PLACEHOLDER)}-{chr(0xFFFFD)}]"
        # Placeholder characters that are there already are exchanged too: then none is ever ambiguous.
        self._literal = re.compile("|".join([*map(re.escape, controls), placeholders]))
        self._placeholder = re.compile(f"({placeholders})")

    def protect(self, data: Any, placeholders: Placeholders) -> Any:
        """The same nested data with the control strings in its text exchanged."""
        if isinstance(data, str):
            return self._literal.sub(placeholders.exchange, data)
        if isinstance(data, dict):
            return {self.protect(key, placeholders): self.protect(value, placeholders) for key, value in data.items()}
        if isinstance(data, list):
            return [self.protect(item, placeholders) for item in data]
        return data

    def encode(self, rendered: str, placeholders: Placeholders) -> list[int]:
        """Ids of a rendering; control tokens are those that the template wrote."""
        if not placeholders.literals:
            return self._plain(rendered)
        ids: list[int] = []
        for piece in self._placeholder.split(rendered):
            if self._placeholder.fullmatch(piece):
                ids.extend(self._as_text(placeholders.literal(piece)))
            elif piece:
                ids.extend(self._plain(piece))
        return ids

    def _plain(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _as_text(self, literal: str) -> list[int]:
        """A control string broken after its first character, and again if what is left spells another."""
        if len(literal) < 2 or not self._literal.search(literal):
            return self._plain(literal)
        return self._plain(literal[0]) + self._as_text(literal[1:])


def _control_strings(tokenizer: Any) -> set[str]:
    """Special tokens, and added ones that look like markup (<tool_call>); not added words or runs of spaces."""
    added = tokenizer.added_tokens_decoder.values()
    return {
        token.content
        for token in added
        if len(token.content) > 1 and (token.special or re.search(r"[<>\[\]|]", token.content))
    }
