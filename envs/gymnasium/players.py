"""Holds scripted players: one follows a plan, one tries anything.

models: {random: {engine: scripted, player: "ray_gym.envs.gymnasium.players:random_player",
                  arguments: {actions: ["0", "1"]}}}
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from ray_gym import Message
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player


def planned_player(plan: Sequence[object]) -> Player:
    """Makes a player that carries out a plan, one action for each message."""

    def player(request: CompletionRequest, rng: random.Random) -> Message:
        return _says(plan[sum(message.role == "assistant" for message in request.messages)])

    return player


def random_player(request: CompletionRequest, rng: random.Random, actions: Sequence[str]) -> Message:
    """Plays one of the given actions at random."""
    return _says(rng.choice(actions))


def _says(action: object) -> Message:
    return Message("assistant", f"<action>{action}</action>")
