"""Holds the guessing game that the example trains on, and the scripted players whose games teach the format."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ray_gym import Environment, Episode, Message, Opening, Participant, Task, ToolCall, tool
from ray_gym.envs.tic_tac_toe.board import empty_cells, read_board
from ray_gym.models.base import CompletionRequest

HIGHEST, GUESSES = 7, 3
HEEDED = 0.5
"""Share of a scripted guesser's guesses that heed what it was told. The others are uniform, so that a policy that
imitates it has something to learn."""


class SecretTask(Task):
    """Holds the number to be found."""

    secret: Annotated[int, Field(ge=1, le=HIGHEST)]


@dataclass
class Secret:
    """Holds the state of one episode: the number, and the bounds that the guesses so far have shown."""

    number: int
    low: int = 1
    high: int = HIGHEST
    guesses: int = 0
    found: bool = False


class Seven(Environment[SecretTask, Secret]):
    """Find a number between 1 and 7 with three guesses. Halving finds it always, so the best mean reward is 1."""

    pattern = "multi-step"
    scoring = "found 1, else 0"

    def generate(self, rng: random.Random, index: int) -> SecretTask:
        return SecretTask(secret=rng.randint(1, HIGHEST))

    def setup(self, task: SecretTask, episode: Episode) -> Secret:
        return Secret(task.secret)

    def opening(self, task: SecretTask, state: Secret) -> Opening:
        return Opening(messages={"policy": f"A number between 1 and {HIGHEST}, {GUESSES} guesses."})

    @tool()
    def guess(self, state: Secret, caller: Participant, number: Annotated[int, Field(ge=1, le=HIGHEST)]) -> str:
        """Guess the number."""
        state.guesses += 1
        state.found = number == state.number
        if number < state.number:
            state.low = max(state.low, number + 1)
        elif number > state.number:
            state.high = min(state.high, number - 1)
        return "found" if state.found else f"between {state.low} and {state.high}"

    def finished(self, state: Secret, episode: Episode) -> str | None:
        return "found" if state.found else "out of guesses" if state.guesses == GUESSES else None

    def score(self, state: Secret, episode: Episode) -> float:
        return 1.0 if state.found else 0.0


def careless_guesser(request: CompletionRequest, rng: random.Random) -> Message:
    """Guesses between the bounds that it was told last in a share `HEEDED` of its guesses, and anywhere in the others."""
    low, high = 1, HIGHEST
    if request.messages[-1].role == "tool" and rng.random() < HEEDED:
        low, high = (int(word) for word in request.messages[-1].content.split() if word.isdigit())
    return _call(rng, "guess", f'{{"number": {rng.randint(low, high)}}}')


def random_mover(request: CompletionRequest, rng: random.Random) -> Message:
    """Moves to a random empty cell of the last board that it was shown. Errors: ValueError if there was none."""
    boards = [cells for message in request.messages if (cells := read_board(message.content)) is not None]
    if not boards:
        raise ValueError("no message shows a board")
    return _call(rng, "make_move", f'{{"position": {rng.choice(empty_cells(boards[-1]))}}}')


def _call(rng: random.Random, name: str, arguments: str) -> Message:
    return Message("assistant", tool_calls=(ToolCall(f"call_{rng.getrandbits(32):08x}", name, arguments),))
