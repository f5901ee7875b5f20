"""Asks for lower-case letters: a task of one answer, on which a model gets better within some steps.

The recipes of trainers train on it, and so do the tests of their bridges, with a model of random weights.
"""

from __future__ import annotations

import random

from ray_gym import Environment, Episode, Opening, Options, Task


class Letters(Task):
    number: int


class LettersOptions(Options):
    fails: float = 0
    """Share of the episodes of every seventh task that can't be scored."""


class SayLetters(Environment[Letters, int]):
    """Scores the share of an answer's characters that are lower-case letters."""

    Options = LettersOptions

    def generate(self, rng: random.Random, index: int) -> Letters:
        return Letters(number=index)

    def setup(self, task: Letters, episode: Episode) -> int:
        return task.number

    def opening(self, task: Letters, state: int) -> Opening:
        return Opening(messages={"policy": f"Say some letters, {state}."})

    def finished(self, state: int, episode: Episode) -> str | None:
        return "answered" if episode.turns_of("policy") else None

    def score(self, state: int, episode: Episode) -> float:
        if state % 7 == 3 and episode.rng("score").random() < self.options.fails:
            raise ValueError("it can't be scored, on purpose")
        said = episode.answer
        return sum("a" <= letter <= "z" for letter in said) / max(1, len(said))
