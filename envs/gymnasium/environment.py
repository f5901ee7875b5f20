"""Plays games of the library Gymnasium by text: an observation is a message, an action stands between tags."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, JsonValue, model_validator

from ray_gym import Environment, Episode, Opening, Task
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.gymnasium import actions
from ray_gym.envs.gymnasium.game import GymnasiumGame, NotByText, Shown, make
from ray_gym.envs.gymnasium.plan import best_plan
from ray_gym.envs.gymnasium.players import planned_player
from ray_gym.errors import UserError, describe
from ray_gym.graders import tagged
from ray_gym.models.player import Player
from ray_gym.stop import StopReason

_between_tags = tagged("action")


class GymnasiumTask(Task):
    """A task is a game to play. It is reset with `seed` and `options`; `arguments` are added to those of the config."""

    seed: Annotated[int, Field(ge=0, lt=2**31)]
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    options: dict[str, JsonValue] = Field(default_factory=dict)


class GymnasiumOptions(EnvironmentOptions):
    """Chooses the game, and the way it is shown and limited."""

    name: str
    """Name as in `gymnasium.make`: `FrozenLake-v1`, or `package.module:Name-v0` of a package that registers it."""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """Other arguments of `gymnasium.make`."""
    description: str = ""
    """Text about the game for the system prompt: the library has none."""
    action_names: tuple[str, ...] = ()
    """Names of the actions of a discrete space; by default the library's, if it has any."""
    shown: Shown = "auto"
    """Way to show observations: as the space gives them (`space`), with an ansi picture (`ansi`), or with a picture if
    there is one (`auto`)."""
    max_steps: Annotated[int, Field(ge=1)] = 50
    """Number of steps after which the game ends."""
    max_mistakes: Annotated[int, Field(ge=1)] = 3
    """Number of answers without an action, counted over the game, at which the game ends."""
    unfinished: float | None = None
    """Reward of a game that a limit or mistakes ended. None means the reward that it had so far."""

    @model_validator(mode="after")
    def _check_playable(self) -> GymnasiumOptions:
        self.new_game({}).close()
        return self

    def new_game(self, arguments: Mapping[str, Any]) -> GymnasiumGame:
        """Makes a game that is not reset yet. `arguments` are added to the config's, and win over them.

        Errors: ValueError that says why the game can't be made, or not be played by text; NotInstalled if the library
        can't be imported.
        """
        try:
            return make(self.name, {**self.arguments, **arguments}, self.shown, self.action_names)
        except (NotByText, UserError):
            raise
        except Exception as error:
            raise ValueError(f"{self.name}: {describe(error)}") from None


class GymnasiumEnvironment(Environment[GymnasiumTask, GymnasiumGame]):
    """Plays any environment of the library Gymnasium that can be played by text."""

    pattern = "multi-step"
    opening_observes = True
    scoring = "the library's rewards, added up"
    reward_range = (-math.inf, math.inf)
    Options = GymnasiumOptions

    def generate(self, rng: random.Random, index: int) -> GymnasiumTask:
        return GymnasiumTask(seed=rng.randrange(2**31))

    def check(self, task: GymnasiumTask) -> None:
        if task.arguments:
            self.options.new_game(task.arguments).close()

    async def setup(self, task: GymnasiumTask, episode: Episode) -> GymnasiumGame:
        game: GymnasiumGame = await episode.in_thread(self.options.new_game, task.arguments)
        await episode.in_thread(game.reset, task.seed, dict(task.options))
        return game

    def opening(self, task: GymnasiumTask, state: GymnasiumGame) -> Opening:
        expected = actions.describe_action(state.environment.action_space, state.names)
        rules = (
            f"{self.options.description or f'You are playing {self.options.name}.'}\n"
            f"An action is {expected}. Each of your messages gives one, between tags: <action>...</action>"
        )
        return Opening(system={"policy": rules}, messages={"policy": state.observation})

    def perfect(self, task: GymnasiumTask) -> Mapping[str, Player]:
        """Returns a policy that plays a plan with the highest reward, or an empty mapping if `best_plan` finds none."""
        game = self.options.new_game(task.arguments)
        game.reset(task.seed, dict(task.options))
        plan = best_plan(game.environment, self.options.max_steps)
        game.close()
        return {} if plan is None else {"policy": planned_player(plan)}

    async def run(self, episode: Episode) -> None:
        game: GymnasiumGame = episode.state
        try:
            while not episode.stopped:
                turn = await episode.turn("policy")
                if not episode.stopped:
                    await self._act(episode, game, turn.text)
        finally:
            game.close()

    async def _act(self, episode: Episode, game: GymnasiumGame, text: str) -> None:
        written, space = _between_tags(text), game.environment.action_space
        try:
            if written is None:
                raise actions.BadAction("there is no action between tags")
            action = actions.read_action(space, written, game.names)
        except actions.BadAction as error:
            game.mistakes += 1
            if game.mistakes >= self.options.max_mistakes:
                game.outcome = "too many mistakes"
            expected = actions.describe_action(space, game.names)
            told = f"Nothing was done: {error}. Write <action>...</action> with {expected}.\n{game.observation}"
        else:
            await episode.in_thread(game.step, action)
            if game.outcome is None and game.steps >= self.options.max_steps:
                game.outcome = "max_steps"
            told = game.observation
        episode.tell("policy", told)
        if game.outcome is not None:
            episode.end(StopReason.FINISHED, game.outcome)

    def score(self, state: GymnasiumGame, episode: Episode) -> float:
        if not state.was_played and self.options.unfinished is not None:
            return float(self.options.unfinished)
        return state.reward
