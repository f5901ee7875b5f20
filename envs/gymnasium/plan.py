"""Finds the best plan for a game whose rules the library gives as a table, as its toy text environments do."""

from __future__ import annotations

from typing import Any

import numpy as np

LARGEST = 1_000_000
"""Largest product of states, actions and steps for which a plan is computed."""


def best_plan(environment: Any, steps: int) -> list[int] | None:
    """Returns a plan with the highest sum of rewards within `steps` steps, as numbers of actions from the game's
    present state on; of several such plans, the shortest.

    Returns None if the rules are not a table, leave something to chance, or are too large (`LARGEST`).
    """
    game = environment.unwrapped
    table = getattr(game, "P", None)
    if table is None or not hasattr(game, "s"):
        return None
    states, actions = len(table), len(table[0])
    outcomes = [[table[state][action] for action in range(actions)] for state in range(states)]
    if any(len(outcome) != 1 for row in outcomes for outcome in row) or states * actions * steps > LARGEST:
        return None
    following = np.array([[outcome[0][1] for outcome in row] for row in outcomes])
    rewards = np.array([[outcome[0][2] for outcome in row] for row in outcomes], dtype=np.float64)
    goes_on = np.array([[not outcome[0][3] for outcome in row] for row in outcomes])
    values, lengths = [np.zeros(states)], [np.zeros(states)]
    for _ in range(steps):
        choices = rewards + goes_on * values[-1][following]
        lengths.append(_where_best(choices, 1 + goes_on * lengths[-1][following]).min(axis=1))
        values.append(choices.max(axis=1))
    state, plan = int(game.s), []
    for left in range(steps, 0, -1):
        after = following[state]
        choices = rewards[state] + goes_on[state] * values[left - 1][after]
        action = int(_where_best(choices, 1 + goes_on[state] * lengths[left - 1][after]).argmin())
        plan.append(action)
        if not goes_on[state, action]:
            break
        state = int(following[state, action])
    return plan


def _where_best(choices: Any, lengths: Any) -> Any:
    """Returns the lengths of the best choices, and infinity for all others."""
    return np.where(choices == choices.max(axis=-1, keepdims=True), lengths, np.inf)
