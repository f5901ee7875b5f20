"""Holds the first environment of the README: one participant, one tool, several steps."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ray_gym import Environment, Episode, Opening, Participant, Task, tool


class GuessTask(Task):
    secret: Annotated[int, Field(ge=1, le=100)]


@dataclass
class Secret:
    number: int
    found: bool = False


class Guess(Environment[GuessTask, Secret]):
    """Find a number between 1 and 100."""

    pattern = "multi-step"

    def generate(self, rng: random.Random, index: int) -> GuessTask:
        return GuessTask(secret=rng.randint(1, 100))

    def setup(self, task: GuessTask, episode: Episode) -> Secret:
        return Secret(task.secret)

    def opening(self, task: GuessTask, state: Secret) -> Opening:
        return Opening(messages={"policy": "I think of a number between 1 and 100. Guess it."})

    @tool()
    def guess(self, state: Secret, caller: Participant, number: Annotated[int, Field(ge=1, le=100)]) -> str:
        """Guess the number."""
        state.found = number == state.number
        return "found" if state.found else "higher" if number < state.number else "lower"

    def finished(self, state: Secret, episode: Episode) -> str | None:
        return "found" if state.found else None

    def score(self, state: Secret, episode: Episode) -> float:
        return 1.0 if state.found else 0.0
