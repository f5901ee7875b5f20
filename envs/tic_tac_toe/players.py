"""Holds scripted players, as opponents and baselines. They see only the messages that a language model would see.

They find the board and their mark in the last message that asks them to move, so they can play either side.

    models: {perfect: {engine: scripted, player: "ray_gym.envs.tic_tac_toe.players:minimax_player"}}
"""

from __future__ import annotations

import random
import re
from functools import cache

from ray_gym import Message, ToolCall
from ray_gym.envs.tic_tac_toe.board import START, Mark, empty_cells, opponent_of, place_mark, read_board, winner_of
from ray_gym.models.base import CompletionRequest

_ASKED = re.compile(r"You play ([XO])\. Your turn")


def random_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Takes a random empty cell. If it is not asked to move, it says that it waits."""
    asked = _read_request(request)
    return _move(rng, rng.choice(empty_cells(asked[0]))) if asked else _WAITING


def minimax_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays perfectly; among equally good moves it takes a random one. If it is not asked to move, it says that it
    waits.
    """
    asked = _read_request(request)
    return _move(rng, rng.choice(best_cells(*asked))) if asked else _WAITING


def hopeful_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays perfectly among the moves after which it can still win with the other side's help. With `helpful_player` it
    wins wherever that is possible.
    """
    asked = _read_request(request)
    return _move(rng, rng.choice(hopeful_cells(*asked))) if asked else _WAITING


def helpful_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Lets the other side win as soon as possible. If it is not asked to move, it says that it waits."""
    asked = _read_request(request)
    return _move(rng, rng.choice(helpful_cells(*asked))) if asked else _WAITING


def occupied_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Takes a random occupied cell, or cell 0 if none is occupied, like a model that understands the tool but not the
    game.
    """
    asked = _read_request(request)
    cells = asked[0] if asked else START
    taken = [position for position in range(9) if position not in empty_cells(cells)]
    return _move(rng, rng.choice(taken or [0]))


def prose_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Says which cell it would take, and does not call the tool."""
    return Message("assistant", f"I would take cell {rng.randrange(9)}.")


def string_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Calls the tool with an argument of the wrong type."""
    return _call(rng, '{"position":"x"}')


@cache
def best_cells(cells: str, mark: Mark) -> tuple[int, ...]:
    """Returns the best moves against perfect play: those that win soonest, else draw, else lose latest."""
    values = {
        position: -_value(place_mark(cells, mark, position), opponent_of(mark)) for position in empty_cells(cells)
    }
    best = max(values.values())
    return tuple(position for position, value in values.items() if value == best)


@cache
def hopeful_cells(cells: str, mark: Mark) -> tuple[int, ...]:
    """Returns the best moves of `mark` (against perfect play) among those after which it can still win if the other
    side helps; if no move can win so, among those that can still draw, else among all.
    """
    hopes = {
        position: _hope(place_mark(cells, mark, position), opponent_of(mark), mark) for position in empty_cells(cells)
    }
    kept = [position for position, hope in hopes.items() if _sign(hope) == _sign(max(hopes.values()))]
    values = {position: -_value(place_mark(cells, mark, position), opponent_of(mark)) for position in kept}
    return tuple(position for position, value in values.items() if value == max(values.values()))


@cache
def helpful_cells(cells: str, mark: Mark) -> tuple[int, ...]:
    """Returns the moves of `mark` after which the other side can win soonest, if `mark` goes on helping it."""
    hopes = {
        position: _hope(place_mark(cells, mark, position), opponent_of(mark), opponent_of(mark))
        for position in empty_cells(cells)
    }
    return tuple(position for position, hope in hopes.items() if hope == max(hopes.values()))


@cache
def _hope(cells: str, mark: Mark, wanted: Mark) -> int:
    """Returns the value of a position for the mark `wanted`, if both sides help that mark to win: positive for a win,
    the more the sooner, 0 for a draw, negative for a loss. `mark` moves next.
    """
    empty = empty_cells(cells)
    winner = winner_of(cells)
    if winner is not None:
        return 1 + len(empty) if winner == wanted else -1 - len(empty)
    return max((_hope(place_mark(cells, mark, position), opponent_of(mark), wanted) for position in empty), default=0)


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


@cache
def _value(cells: str, mark: Mark) -> int:
    """Returns the value of a position for the mark that moves next, if both sides play perfectly: positive for a win,
    the more the sooner, 0 for a draw, negative for a loss.
    """
    empty = empty_cells(cells)
    if winner_of(cells) is not None:
        return -1 - len(empty)
    return max((-_value(place_mark(cells, mark, position), opponent_of(mark)) for position in empty), default=0)


def _read_request(request: CompletionRequest) -> tuple[str, Mark] | None:
    """Returns the cells and the player's mark from the last message that shows a board. Returns None if there is no
    such message, or if it does not ask for a move (the board after the player's own move).
    """
    for message in reversed(request.messages):
        cells = read_board(message.content)
        if cells is not None:
            asked = _ASKED.search(message.content)
            return (cells, "X" if asked[1] == "X" else "O") if asked else None
    return None


_WAITING = Message("assistant", "I am waiting for my turn.")


def _move(rng: random.Random, position: int) -> Message:
    return _call(rng, f'{{"position":{position}}}')


def _call(rng: random.Random, arguments: str) -> Message:
    call = ToolCall(f"call_{rng.getrandbits(32):08x}", "make_move", arguments)
    return Message("assistant", tool_calls=(call,))
