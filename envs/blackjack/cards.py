"""Makes the deck, and counts what a hand is worth. Suits don't matter."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Literal, get_args

Rank = Literal["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"]

RANKS: tuple[Rank, ...] = get_args(Rank)
SUITS = 4
TWENTY_ONE = 21


def shuffle_deck(seed: int, top: Sequence[Rank] = ()) -> tuple[Rank, ...]:
    """Returns 52 cards: `top` as it is, then all others in an order that the seed decides."""
    left = Counter(dict.fromkeys(RANKS, SUITS))
    left.subtract(top)
    rest = list(left.elements())
    random.Random(seed).shuffle(rest)
    return (*top, *rest)


def value_of(rank: Rank) -> int:
    """Returns the value of a card, from 1 to 10. An ace has 1 here."""
    if rank == "A":
        return 1
    return 10 if rank in ("J", "Q", "K") else int(rank)


def is_soft(hand: Sequence[Rank]) -> bool:
    """Says whether a hand has an ace that counts 11."""
    return "A" in hand and sum(map(value_of, hand)) + 10 <= TWENTY_ONE


def total_of(hand: Sequence[Rank]) -> int:
    """Returns the value of a hand. One ace counts 11 if the hand stays at or below 21."""
    return sum(map(value_of, hand)) + (10 if is_soft(hand) else 0)


def is_natural(hand: Sequence[Rank]) -> bool:
    """Says whether a hand is a natural: two cards, of which one is an ace and the other counts 10."""
    return len(hand) == 2 and total_of(hand) == TWENTY_ONE


def show_hand(hand: Sequence[Rank]) -> str:
    """Writes a hand and its total: `10 6 (16)`, `A 6 (soft 17)`."""
    return f"{' '.join(hand)} ({'soft ' if is_soft(hand) else ''}{total_of(hand)})"
