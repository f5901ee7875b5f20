"""Plays blackjack by text: a game with Gymnasium's interface, and the loop that lets a model play it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, model_validator

from ray_gym import Environment, Episode, Opening, Task
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.blackjack.cards import SUITS, Rank, shuffle_deck
from ray_gym.envs.blackjack.foresight import best_plan
from ray_gym.envs.blackjack.game import EXPECTED, LOSS, WIN, BlackjackGame
from ray_gym.envs.blackjack.players import planned_player
from ray_gym.graders import folded, tagged
from ray_gym.models.player import Player
from ray_gym.stop import StopReason

DEALS_TRIED = 100
"""Largest number of deals that `generate` draws. About six in ten can be won, so this many are never needed."""

RULES = f"""You are playing one hand of blackjack against a dealer.
Number cards count their number, J, Q and K count 10, an ace counts 11, or 1 where 11 would bring the hand over 21. \
You may hit (draw a card) as often as you like; over 21 you lose at once. When you stand, the dealer turns over its other card, \
draws below 17 and stands from 17 on. Over 21 it loses; else the hand that is closer to 21 wins, and equal hands are a draw. \
An ace with a card that counts 10, as dealt, beats every other 21.
Think as briefly as you like, then write your action between tags. {EXPECTED}"""


class BlackjackTask(Task):
    """A task is the order of a deck. `top` are the cards that are dealt first: the player's, the dealer's open one, the
    player's, the dealer's other one, then as they are drawn. `seed` shuffles the rest.
    """

    seed: Annotated[int, Field(ge=0)] = 0
    top: Annotated[tuple[Rank, ...], Field(max_length=52)] = ()

    @model_validator(mode="after")
    def _check_deck(self) -> BlackjackTask:
        for rank, count in Counter(self.top).items():
            if count > SUITS:
                raise ValueError(f"top: {rank!r} is there {count} times; a deck has {SUITS} of each")
        return self

    def deck(self) -> tuple[Rank, ...]:
        """Returns the whole deck in its order."""
        return shuffle_deck(self.seed, self.top)


@dataclass
class BlackjackTable:
    """The state of an episode is a game, with the last observation and the rewards so far."""

    game: BlackjackGame
    observation: str
    """Last observation of the player."""
    reward: float = 0.0
    """Sum of the rewards of the steps so far."""


class Blackjack(Environment[BlackjackTask, BlackjackTable]):
    """The policy plays one hand of blackjack by text against a dealer's fixed rules."""

    pattern = "multi-step"
    opening_observes = True
    scoring = "win 1, draw 0, loss -1"
    reward_range = (LOSS, WIN)

    class Options(EnvironmentOptions):
        """Holds the options of the game."""

        max_mistakes: Annotated[int, Field(ge=1)] = 3
        """Number of answers without an action, counted over the game, at which the game is lost."""

    def generate(self, rng: random.Random, index: int) -> BlackjackTask:
        """Draws a deal that can be won by a player who knows the deck. Errors: RuntimeError if none of `DEALS_TRIED`
        deals can, which is as good as impossible.
        """
        for _ in range(DEALS_TRIED):
            task = BlackjackTask(seed=rng.getrandbits(40))
            reward, _ = best_plan(task.deck())
            if reward == WIN:
                return task
        raise RuntimeError(f"none of {DEALS_TRIED} deals can be won")

    def setup(self, task: BlackjackTask, episode: Episode) -> BlackjackTable:
        game = BlackjackGame(task.deck(), self.options.max_mistakes)
        observation, _ = game.reset()
        return BlackjackTable(game, observation)

    def opening(self, task: BlackjackTask, state: BlackjackTable) -> Opening:
        return Opening(system={"policy": RULES}, messages={"policy": state.observation})

    def perfect(self, task: BlackjackTask) -> Mapping[str, Player]:
        _, plan = best_plan(task.deck())
        return {"policy": planned_player(plan)}

    async def run(self, episode: Episode) -> None:
        table: BlackjackTable = episode.state
        while not episode.stopped:
            turn = await episode.turn("policy")
            if episode.stopped:
                return
            table.observation, reward, terminated, truncated, info = table.game.step(action_in(turn.text))
            table.reward += reward
            episode.tell("policy", table.observation)
            if terminated or truncated:
                episode.end(StopReason.FINISHED, info["outcome"])

    def score(self, state: BlackjackTable, episode: Episode) -> float:
        """Returns the game's reward: 1 for a win, 0 for a draw, -1 for a loss, for too many mistakes, and for an
        unfinished game.
        """
        return state.reward if state.game.is_over else LOSS


_between_tags = tagged("action")


def action_in(text: str) -> str | None:
    """Returns the text between the last `<action>` tags in lower case, with single spaces; None without such tags. The
    tags may have any letter case.
    """
    found = _between_tags(text.lower())
    return None if found is None else folded(found)
