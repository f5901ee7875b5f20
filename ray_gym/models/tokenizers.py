"""Describes a tokenizer by what another machine can compare with its own: its vocabulary, and the tokens of a text."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Self

PROBE = 'Probe 12 + 345 = 357.\n\tnaïve “quotes” {"name": [true, null]} \N{SNOWMAN}'
"""Text whose tokens differ between most tokenizers: numbers, white space, accents, JSON, and a character of three bytes."""


@dataclass(frozen=True, slots=True)
class TokenizerDigest:
    """Describes a tokenizer. Two that are equal have the same ids for the same tokens, and split the probe alike."""

    size: int
    """Number of tokens of the vocabulary."""
    vocabulary: str
    """SHA-256 of all tokens with their ids, in hexadecimal digits."""
    probe: tuple[int, ...]
    """Tokens of `PROBE`, without those that a tokenizer adds before or behind."""

    @classmethod
    def of(cls, tokenizer: Any) -> Self:
        """Returns the digest of a tokenizer of transformers. It takes some tenths of a second for large vocabularies."""
        vocabulary = tokenizer.get_vocab()
        told = json.dumps(sorted(vocabulary.items())).encode()
        return cls(len(vocabulary), hashlib.sha256(told).hexdigest(), tuple(probe_ids(tokenizer)))


def probe_ids(tokenizer: Any) -> list[int]:
    """Returns the tokens of `PROBE`, without those that the tokenizer adds before or behind."""
    return list(tokenizer(PROBE, add_special_tokens=False)["input_ids"])
