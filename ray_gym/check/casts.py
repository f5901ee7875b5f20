"""Chooses the players of an episode of a check.

Participants for which a cast names no player are played by the environment's perfect players, or by random ones if it
has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ray_gym.check.players import nasty_player, null_player, random_judge, random_player
from ray_gym.environment import Environment
from ray_gym.errors import UserError, wrong_return
from ray_gym.models.player import Player
from ray_gym.task import Task

PERFECT, RANDOM, NULL = "perfect players", "a random policy", "a null policy"
NASTY_POLICY, NASTY_OTHERS, NASTY = "an adversarial policy", "adversarial others", "adversarial players"
CASTS = (PERFECT, RANDOM, NULL, NASTY_POLICY, NASTY_OTHERS, NASTY)


def casts_for(environment: Environment[Any, Any]) -> tuple[str, ...]:
    """Returns the names of the casts that an environment can be played with.

    Casts with adversarial others are left out if there is only one participant.
    """
    alone = len(environment.participants) + len(environment.auxiliary) == 1
    return tuple(cast for cast in CASTS if not (alone and cast in (NASTY_OTHERS, NASTY)))


def cast_of(name: str, environment: Environment[Any, Any], task: Task) -> Mapping[str, Player]:
    """Returns a player for every participant, auxiliary ones included, by name. `name`: name of the cast."""
    perfect = perfect_of(environment, task)

    def player_of(participant: str) -> Player:
        is_policy = participant == "policy"
        if name in ((NASTY_POLICY, NASTY) if is_policy else (NASTY_OTHERS, NASTY)):
            return nasty_player(environment.tools, perfect.get(participant))
        if is_policy and name in (RANDOM, NULL):
            return random_player if name == RANDOM else null_player
        return perfect.get(participant, random_judge if participant in environment.auxiliary else random_player)

    return {one: player_of(one) for one in (*environment.participants, *environment.auxiliary)}


def perfect_of(environment: Environment[Any, Any], task: Task) -> Mapping[str, Player]:
    """Returns the environment's perfect players for a task, by participant.

    The result is empty if making them raises, which the check of the score reports. Errors: UserError if `perfect`
    returns no mapping.
    """
    try:
        players: object = environment.perfect(task)
    except (Exception, SystemExit):
        return {}
    if not isinstance(players, Mapping):
        wrong = wrong_return(environment, "perfect", players, "a mapping with a player for each participant").failure
        raise UserError(f"{wrong.where}: {wrong.message}")
    return players
