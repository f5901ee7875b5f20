"""Limits how much of a run's texts and tokens a report holds."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_TEXT = 4_000
"""Most characters of a text."""
MOST_EVENTS = 300
"""Most events of an episode."""
MOST_SAMPLES = 8
"""Most samples of an episode whose tokens are shown."""
_TEXT_BYTES = 1_500_000
_TOKENS = 14_000
"""Tokens of a report: some 150 bytes each."""
_TEXT_BYTES_OF_ONE, _TOKENS_OF_ONE = 200_000, 3_000
_FEWEST_TOKENS = 100


@dataclass(slots=True)
class Allowance:
    """Holds how much may still be written of an episode."""

    text: int
    """Bytes of texts."""
    tokens: int

    @classmethod
    def of(cls, episodes: int) -> Allowance:
        """Returns that of each of so many episodes."""
        each = max(1, episodes)
        tokens = max(_FEWEST_TOKENS, min(_TOKENS_OF_ONE, _TOKENS // each))
        return cls(min(_TEXT_BYTES_OF_ONE, _TEXT_BYTES // each), tokens)
