"""Plays tic-tac-toe between two models: the smallest environment in which both sides act on one shared state."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ray_gym import (
    Environment,
    Episode,
    EpisodeFailure,
    FailureKind,
    Html,
    Opening,
    Participant,
    Score,
    Task,
    ToolError,
    ToolSchema,
    Turn,
    tool,
)
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.tic_tac_toe.board import Board, IllegalMove, Mark, opponent_of, render, table_of
from ray_gym.envs.tic_tac_toe.players import helpful_player, hopeful_player
from ray_gym.models.player import Player
from ray_gym.stop import StopReason

OWNERS: Mapping[Mark, str] = {"X": "policy", "O": "user"}
MARKS: Mapping[str, Mark] = {"policy": "X", "user": "O"}


class InitialMove(BaseModel):
    """An initial move was made before the episode begins."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    position: Annotated[int, Field(ge=0, le=8)]
    mark: Mark


class TicTacToeTask(Task):
    """A task is a game to continue after `initial_moves`. The mark that did not move last is next, at first X."""

    initial_moves: tuple[InitialMove, ...] = ()

    @model_validator(mode="after")
    def _check_playable(self) -> TicTacToeTask:
        if any(message.tool_calls for message in self.messages):
            raise ValueError(
                "messages: they have tool calls, but moves are not read from them: name them in initial_moves"
            )
        outcome = self.board().outcome
        if outcome is not None:
            raise ValueError(f"initial_moves: nothing is left to play, the game is over: {outcome}")
        return self

    def board(self) -> Board:
        """Returns the board after the initial moves. Errors: ValueError that names the first illegal move."""
        board = Board(next_mark=self.initial_moves[0].mark if self.initial_moves else "X")
        for index, move in enumerate(self.initial_moves):
            try:
                board.place(move.mark, move.position)
            except IllegalMove as error:
                raise ValueError(f"initial_moves[{index}]: {error}") from None
        return board


class Move(BaseModel):
    """A legal move is answered with this object. Refused moves are tool errors."""

    success: bool
    board: str
    game_over: bool
    winner: Mark | None
    message: str


class TicTacToe(Environment[TicTacToeTask, Board]):
    """The policy plays X against the user's O."""

    participants = ("policy", "user")
    pattern = "multi-turn"
    opening_observes = True
    scoring = "win 1, draw 0.5, loss or unfinished 0"

    class Options(EnvironmentOptions):
        """Holds the options of the game."""

        legal_moves_only: bool = False
        """True to constrain calls to empty cells while they are generated. The prompt stays the same."""

    def generate(self, rng: random.Random, index: int) -> TicTacToeTask:
        """Draws up to four moves, which are too few to end a game. Either side may have begun."""
        mark: Mark = rng.choice(("X", "O"))
        moves = []
        for position in rng.sample(range(9), rng.randint(0, 4)):
            moves.append(InitialMove(position=position, mark=mark))
            mark = opponent_of(mark)
        return TicTacToeTask(initial_moves=tuple(moves))

    def perfect(self, task: TicTacToeTask) -> Mapping[str, Player]:
        """Returns players with which the policy wins. The user has to help, since nobody wins against a user who plays
        well.
        """
        return {"policy": hopeful_player, "user": helpful_player}

    def setup(self, task: TicTacToeTask, episode: Episode) -> Board:
        return task.board()

    def opening(self, task: TicTacToeTask, state: Board) -> Opening:
        first = OWNERS[state.next_mark]
        return Opening(
            system={name: _rules(mark) for name, mark in MARKS.items()},
            messages={first: _ask("Here is the game.", state)},
            first=first,
        )

    @tool(participants=("policy", "user"))
    def make_move(
        self,
        board: Board,
        mover: Participant,
        position: Annotated[int, Field(ge=0, le=8, description="The number of an empty cell.")],
    ) -> Move:
        """Place your mark on an empty cell of the board."""
        mark = MARKS[mover.name]
        try:
            board.place(mark, position)
        except IllegalMove as error:
            raise ToolError(str(error)) from None
        outcome = board.outcome
        return Move(
            success=True,
            board=render(board.cells),
            game_over=outcome is not None,
            winner=board.winner,
            message=f"{mark} plays {position}." if outcome is None else f"{mark} plays {position}: {outcome}.",
        )

    def narrow(self, tool: ToolSchema, state: Board, caller: Participant) -> ToolSchema:
        if not self.options.legal_moves_only:
            return tool
        position = tool.parameters["properties"]["position"]
        only_empty = {"type": "integer", "enum": list(state.empty), "description": position["description"]}
        return replace(tool, parameters={**tool.parameters, "properties": {"position": only_empty}})

    def next_speaker(self, state: Board, episode: Episode, turn: Turn) -> str:
        """Returns the side that moves next. After a turn without a legal move it is the same side again, which is told
        so, until a limit ends the episode.
        """
        if (mover := OWNERS[state.next_mark]) == turn.speaker:
            episode.tell(mover, _ask("You have not made a legal move, so it is still you to move.", state))
        return mover

    def relay(self, state: Board, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        if listener.name != OWNERS[state.next_mark]:
            return None
        return _ask(f"{MARKS[turn.speaker]} plays {state.last_position}.", state)

    def finished(self, state: Board, episode: Episode) -> str | None:
        return state.outcome

    def render(self, state: Board, episode: Episode) -> Html:
        return Html(table_of(state.cells, state.last_position))

    def score(self, state: Board, episode: Episode) -> Score:
        """Returns 1 for the winner and 0 for the loser, 0.5 for both in a draw, and 0 for both in an unfinished game.

        Errors: EpisodeFailure (user) if the game is unfinished because a user that is not trained made no legal move.
        """
        if state.outcome is None:
            self._check_user(state, episode)
            rewards = {"X": 0.0, "O": 0.0}
        elif state.winner is None:
            rewards = {"X": 0.5, "O": 0.5}
        else:
            rewards = {state.winner: 1.0, opponent_of(state.winner): 0.0}
        return Score(rewards["X"], others={OWNERS["O"]: rewards["O"]})

    def _check_user(self, board: Board, episode: Episode) -> None:
        """Checks that the user's turns were not used up by turns without a legal move. A trained user is not checked.

        Errors: EpisodeFailure (user) if the user has no turn left and one of them made no legal move.
        """
        user, stop = episode.participants["user"], episode.stop
        if user.trainable or stop is None or (stop.reason, stop.text) != (StopReason.MAX_TURNS, "user"):
            return
        turns = episode.turns_of("user")
        wasted = turns - (board.cells.count("O") - episode.task.board().cells.count("O"))
        if wasted:
            wrong = f"{wasted} of its {turns} turns made no legal move, and none is left"
            raise EpisodeFailure(FailureKind.USER, "user", wrong)


def _rules(mark: Mark) -> str:
    return (
        f"You are playing tic-tac-toe. Your mark is {mark}, your opponent's is {opponent_of(mark)}.\n"
        "The board has nine cells in three rows, numbered 0 to 8. A cell that shows its number is empty. "
        "The players take turns; whoever first has three marks in a row, column or diagonal wins, "
        "and a full board without such a line is a draw.\n"
        "When it is your turn, call make_move once with the number of an empty cell. Words alone do not move."
    )


def _ask(news: str, board: Board) -> str:
    """Returns the message to the side that moves next: the news, the board, and that side's mark."""
    return f"{news}\n{render(board.cells)}\nYou play {board.next_mark}. Your turn."
