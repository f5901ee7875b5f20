"""Finds the best result for a player who knows the deck, for the generator and for the perfect player."""

from __future__ import annotations

from collections.abc import Sequence

from ray_gym.envs.blackjack.cards import Rank
from ray_gym.envs.blackjack.game import BlackjackGame


def best_plan(deck: Sequence[Rank]) -> tuple[float, tuple[str, ...]]:
    """Returns the highest reward that a hand with this deck can get, and the shortest list of actions that gets it.

    The actions are some number of hits, and then a stand.
    """
    best: tuple[float, tuple[str, ...]] | None = None
    game = BlackjackGame(deck)
    hits = 0
    while not game.is_over:
        plan = (*["hit"] * hits, "stand")
        reward = _reward_of(deck, plan)
        if best is None or reward > best[0]:
            best = reward, plan
        game.step("hit")
        hits += 1
    assert best is not None, "two cards are never over 21"
    return best


def _reward_of(deck: Sequence[Rank], plan: Sequence[str]) -> float:
    game = BlackjackGame(deck)
    return sum(game.step(action)[1] for action in plan)
