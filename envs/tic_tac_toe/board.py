"""Holds the rules of tic-tac-toe, for the environment and the scripted players.

A position is a string of nine characters, cell 0 first. Strings are fast to hash, so results for a position are
computed once and cached. There are fewer than 20,000 positions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

Mark = Literal["X", "O"]

EMPTY = "."
START = EMPTY * 9
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


class IllegalMove(ValueError):
    """Says why a move is illegal and, while the game goes on, which cells are empty."""


def opponent_of(mark: Mark) -> Mark:
    """Returns the other mark."""
    return "O" if mark == "X" else "X"


@cache
def winner_of(cells: str) -> Mark | None:
    """Returns the mark that has three in a line; None if there is none."""
    for first, second, third in LINES:
        if cells[first] == cells[second] == cells[third] != EMPTY:
            return "X" if cells[first] == "X" else "O"
    return None


@cache
def empty_cells(cells: str) -> tuple[int, ...]:
    """Returns the numbers of the empty cells, in order."""
    return tuple(position for position, mark in enumerate(cells) if mark == EMPTY)


def place_mark(cells: str, mark: Mark, position: int) -> str:
    """Returns the cells with a mark on cell number `position`, without a check that this move is legal."""
    return cells[:position] + mark + cells[position + 1 :]


@cache
def render(cells: str) -> str:
    """Writes a position as three rows of text, in which an empty cell shows its number."""
    shown = [str(position) if mark == EMPTY else mark for position, mark in enumerate(cells)]
    return "\n".join(" ".join(shown[row : row + 3]) for row in (0, 3, 6))


@cache
def table_of(cells: str, last_position: int | None) -> str:
    """Writes a position as an HTML table, in which the last move is marked."""
    rows = "".join(
        f"<tr>{''.join(_cell(cells, row + column, last_position) for column in range(3))}</tr>" for row in (0, 3, 6)
    )
    return f'<table class="board"><tbody>{rows}</tbody></table>'


def _cell(cells: str, position: int, last_position: int | None) -> str:
    mark = cells[position]
    if mark == EMPTY:
        return f"<td><small>{position}</small></td>"
    return f"<td><mark>{mark}</mark></td>" if position == last_position else f"<td>{mark}</td>"


# A line break may be written as \n: boards are also shown inside the JSON of tool results.
_SHOWN = re.compile(
    r"(?:\n|\\n)".join(" ".join(f"([XO{position}])" for position in range(row, row + 3)) for row in (0, 3, 6))
)


def read_board(text: str) -> str | None:
    """Returns the cells of the last board in a text; None if there is no board in it."""
    boards: list[tuple[str, ...]] = _SHOWN.findall(text)
    return "".join(mark if mark in "XO" else EMPTY for mark in boards[-1]) if boards else None


@dataclass(slots=True)
class Board:
    """A board is a game being played, and the state of one episode."""

    cells: str = START
    next_mark: Mark = "X"
    """Mark that moves next."""
    last_position: int | None = None
    """Cell of the last move; None before the first."""

    @property
    def winner(self) -> Mark | None:
        """Returns the mark that has won; None if none has."""
        return winner_of(self.cells)

    @property
    def outcome(self) -> str | None:
        """Returns the end of the game: `X wins`, `O wins` or `draw`; None while it goes on."""
        winner = winner_of(self.cells)
        if winner is not None:
            return f"{winner} wins"
        return None if EMPTY in self.cells else "draw"

    @property
    def empty(self) -> tuple[int, ...]:
        """Returns the numbers of the empty cells."""
        return empty_cells(self.cells)

    def place(self, mark: Mark, position: int) -> None:
        """Places a mark on cell number `position`.

        Errors: IllegalMove if the game is over, the other mark moves next, or the cell is taken. Then the board stays
        as it was.
        """
        outcome = self.outcome
        if outcome is not None:
            raise IllegalMove(f"the game is over: {outcome}")
        empty = ", ".join(map(str, self.empty))
        if mark != self.next_mark:
            raise IllegalMove(f"it is the turn of {self.next_mark}, not of {mark}; the empty cells are {empty}")
        if self.cells[position] != EMPTY:
            raise IllegalMove(f"cell {position} is taken by {self.cells[position]}; the empty cells are {empty}")
        self.cells = place_mark(self.cells, mark, position)
        self.next_mark = opponent_of(mark)
        self.last_position = position
