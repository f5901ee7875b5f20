"""Holds scripted players: a policy that says a given text, and a judge that knows the gold answer."""

from __future__ import annotations

import random

from ray_gym.graders import folded
from ray_gym.graders.equivalence import compared, says_equal
from ray_gym.messages import Message
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player


def judge_who_knows(gold: str) -> Player:
    """Makes a scripted judge that finds two answers equal if both contain the gold answer, in any letter case."""

    def judge(request: CompletionRequest, rng: random.Random) -> Message:
        return says_equal(all(folded(gold) in answer for answer in compared(request)))

    return judge


def says(text: str) -> Player:
    """Makes a scripted policy that always answers with this text."""
    return lambda request, rng: Message("assistant", text)
