"""Defines a talk of two language models. Each episode has prompts of its own, so that no cache holds them in advance."""

from __future__ import annotations

import random

from ray_gym import Environment, Episode, Opening, Task

PLACES = ("harbour", "quarry", "library", "orchard", "station", "mill", "chapel", "market", "lighthouse", "tannery")
HABITS = ("gruff", "curious", "patient", "hurried", "cheerful", "doubtful", "learned", "shy", "talkative", "dry")


class Meeting(Task):
    number: int
    place: str
    habits: dict[str, str]


class Talk(Environment[Meeting, Meeting]):
    """Tells each participant its habits and the place, and scores nothing."""

    participants = ("policy", "user")

    def generate(self, rng: random.Random, index: int) -> Meeting:
        habits = {name: ", ".join(rng.sample(HABITS, 3)) for name in self.participants}
        return Meeting(number=index, place=rng.choice(PLACES), habits=habits)

    def setup(self, task: Meeting, episode: Episode) -> Meeting:
        return task

    def opening(self, task: Meeting, state: Meeting) -> Opening:
        system = {
            name: f"Conversation {state.number}. You are {habits}. You meet someone at the {state.place}. Say one sentence at a time."
            for name, habits in state.habits.items()
        }
        return Opening(system=system, messages={"policy": f"Good day! What brings you to the {state.place}?"})

    def score(self, state: Meeting, episode: Episode) -> float:
        return 0.0
