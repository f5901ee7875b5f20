"""Checks scripted players of tic-tac-toe: the perfect ones get a game's value, and the random one may do anything."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest
from playing_tasks import play_task, reward_of
from test_tic_tac_toe import X_WINS_AT_2, end_of, game, generated, moves_of, task_of

from ray_gym.envs.tic_tac_toe import TicTacToe
from ray_gym.envs.tic_tac_toe.environment import TicTacToeTask
from ray_gym.envs.tic_tac_toe.players import minimax_player, random_player
from ray_gym.episode.episode import Episode
from ray_gym.stop import StopReason

LINES = [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}]


@cache
def negamax(mover: frozenset[int], opponent: frozenset[int]) -> int:
    """1, 0 or -1 for whoever moves next. Shares no code with the players, so that it can contradict them."""
    if any(line <= opponent for line in LINES):
        return -1
    empty = set(range(9)) - mover - opponent
    return max((-negamax(opponent, mover | {cell}) for cell in empty), default=0)


def value_for(task: TicTacToeTask, mark: str) -> int:
    cells = {side: frozenset(move.position for move in task.initial_moves if move.mark == side) for side in "XO"}
    following = "X" if not task.initial_moves or task.initial_moves[-1].mark == "O" else "O"
    value = negamax(cells[following], cells["O" if following == "X" else "X"])
    return value if following == mark else -value


@pytest.mark.environments
@pytest.mark.parametrize("side", ["policy", "user"])
@pytest.mark.parametrize("steps", [1, 3])
async def test_minimax_gets_at_least_the_value_of_the_position(side: str, steps: int) -> None:
    assert negamax(frozenset(), frozenset()) == 0
    players = {"policy": random_player, "user": random_player, side: minimax_player}
    values = set()
    for index in range(200):
        task = generated(2, index)
        played = await game(players["policy"], players["user"], task, seed=index, steps=steps)
        assert played.episode.usage.tool_errors == 0, "with steps left, good players wait until they are asked again"
        reason, _, policy, user = end_of(played)
        assert reason == StopReason.FINISHED and policy + user == 1
        value = value_for(task, "X" if side == "policy" else "O")
        assert 2 * (policy if side == "policy" else user) - 1 >= value, task
        values.add(value)
        perfect = await game(minimax_player, minimax_player, task, seed=index)
        assert 2 * end_of(perfect)[2] - 1 == value_for(task, "X"), task
    assert values == {-1, 0, 1}, "positions of every kind were tried"


@cache
def reachable(x: frozenset[int], o: frozenset[int], x_is_next: bool) -> float:
    """Returns the highest reward that X can get if O wants it to. It shares no code with the players, either."""
    if any(line <= x for line in LINES) or any(line <= o for line in LINES):
        return float(any(line <= x for line in LINES))
    following = [(x | {cell}, o) if x_is_next else (x, o | {cell}) for cell in set(range(9)) - x - o]
    return max((reachable(*marks, not x_is_next) for marks in following), default=0.5)


def reachable_from(task: TicTacToeTask) -> float:
    x, o = (frozenset(move.position for move in task.initial_moves if move.mark == mark) for mark in "XO")
    return reachable(x, o, task.board().next_mark == "X")


WITHOUT_A_WIN = ((4, "O"), (5, "X"), (8, "O"), (7, "X"))
"""An opening from which X can't win: every line that O has not spoilt needs more marks than X has moves."""


async def test_perfect_players_get_all_that_a_user_can_let_the_policy_have() -> None:
    for index in range(200):
        task = generated(3, index)
        played = await play_task(TicTacToe(), task, seed=index)
        assert reward_of(played) == reachable_from(task) == 1, task
        assert played.episode.usage.tool_errors == 0
    hopeless = task_of(WITHOUT_A_WIN)
    assert reachable_from(hopeless) == 0.5, "an opening from which X can't win at all"
    assert {reward_of(await play_task(TicTacToe(), hopeless, seed=seed)) for seed in range(20)} == {0.5}


async def test_the_seed_decides_the_game() -> None:
    async def games(seed: int) -> list[Episode]:
        return [(await game(random_player, minimax_player, seed=100 * seed + index)).episode for index in range(5)]

    def record(episode: Episode) -> list[tuple[Any, ...]]:
        return [(each.kind, each.participant, each.content, each.tool_calls, each.error) for each in episode.events]

    first, again, different = await games(1), await games(1), await games(2)
    assert [record(episode) for episode in first] == [record(episode) for episode in again]
    assert [moves_of(episode) for episode in first] != [moves_of(episode) for episode in different]


async def test_the_random_player_may_take_any_empty_cell() -> None:
    games = [await game(random_player, random_player, task_of(X_WINS_AT_2), seed) for seed in range(200)]
    counts = Counter(moves_of(played.episode)[0][1] for played in games)
    assert set(counts) == {2, 5, 6, 7, 8} and min(counts.values()) > 20
