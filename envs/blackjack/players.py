"""Holds scripted players. They read the last observation that shows their hand, as a model would.

models: {basic: {engine: scripted, player: "ray_gym.envs.blackjack.players:basic_player"}}
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from ray_gym import Message
from ray_gym.envs.blackjack.cards import RANKS, value_of
from ray_gym.envs.blackjack.game import ACTIONS
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player

_SHOWN = re.compile(r"Your hand: .*?\((soft )?(\d+)\)\. The dealer shows (\w+)\.")


def basic_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays basic strategy with hit and stand only, by the player's hand and the dealer's open card."""
    found = [match for message in request.messages for match in _SHOWN.finditer(message.content)]
    soft, total, dealer = found[-1].groups()
    dealers = next(value_of(rank) for rank in RANKS if rank == dealer)
    return _says("hit" if should_hit(int(total), bool(soft), dealers) else "stand")


def random_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays hit or stand, each as likely as the other."""
    return _says(rng.choice(ACTIONS))


def planned_player(plan: Sequence[str]) -> Player:
    """Makes a player that carries out a plan, one action for each message."""

    def player(request: CompletionRequest, rng: random.Random) -> Message:
        return _says(plan[sum(message.role == "assistant" for message in request.messages)])

    return player


def should_hit(total: int, soft: bool, dealer: int) -> bool:
    """Says whether basic strategy hits. `dealer` is what the dealer's open card counts, with an ace as 1."""
    if soft:
        return total <= 17 or (total == 18 and dealer in (9, 10, 1))
    if total == 12:
        return dealer not in (4, 5, 6)
    return total < 12 or (total < 17 and dealer not in (2, 3, 4, 5, 6))


def _says(action: str) -> Message:
    return Message("assistant", f"<action>{action}</action>")
