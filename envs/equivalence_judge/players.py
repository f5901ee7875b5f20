"""Scripted players: a policy that says what it is told to, and judges without a language model.

models: {literal: {engine: scripted, player: "envs.equivalence_judge.players:literal_judge"}}
"""

from __future__ import annotations

import random

from envs.equivalence_judge.prompt import DIFFERENT, EQUAL
from ray_gym.graders import fenced_texts, folded
from ray_gym.messages import Message
from ray_gym.models.base import CompletionRequest
from ray_gym.models.scripted import Player


def literal_judge(request: CompletionRequest, rng: random.Random) -> Message:
    """Finds answers equal that are the same text, case and white space aside."""
    first, second = _answers(request)
    return _verdict(first == second)


def judge_who_knows(gold: str) -> Player:
    """Finds answers equal that both have the gold answer in them."""

    def judge(request: CompletionRequest, rng: random.Random) -> Message:
        return _verdict(all(folded(gold) in answer for answer in _answers(request)))

    return judge


def says(text: str) -> Player:
    return lambda request, rng: Message("assistant", text)


def _answers(request: CompletionRequest) -> tuple[str, str]:
    first, second = fenced_texts(request.messages[-1].content)[-2:]
    return folded(first), folded(second)


def _verdict(equal: bool) -> Message:
    return Message("assistant", EQUAL if equal else DIFFERENT)
