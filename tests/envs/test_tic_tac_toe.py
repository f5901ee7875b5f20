"""Plays whole games in process by scripted players."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ray_gym import Message, Participant, ToolCall
from ray_gym.config.file import read_config
from ray_gym.config.sections import LimitsSection
from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.envs.tic_tac_toe import TicTacToe
from ray_gym.envs.tic_tac_toe.board import read_board, render
from ray_gym.envs.tic_tac_toe.environment import TicTacToeTask
from ray_gym.envs.tic_tac_toe.players import occupied_player, prose_player, random_player, string_player
from ray_gym.episode.episode import Episode
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import Failure, FailureKind
from ray_gym.models.base import CompletionRequest, Sampling
from ray_gym.models.player import Player
from ray_gym.play.play import Played, play
from ray_gym.stop import StopReason

X_WINS_AT_2 = ((0, "X"), (3, "O"), (1, "X"), (4, "O"))  # X is next and wins at 2
O_OPENS = ((4, "O"), (0, "X"), (8, "O"))  # X is next, and O has one mark more


CONFIGS = Path(__file__).parents[2] / "configs"


def task_of(moves: Sequence[tuple[int, str]] = ()) -> TicTacToeTask:
    return TicTacToeTask.model_validate({"initial_moves": [{"position": p, "mark": m} for p, m in moves]})


def generated(seed: int, index: int) -> TicTacToeTask:
    return TicTacToe().generate(random.Random(1000 * seed + index), index)


START = task_of()


async def game(
    policy: Player,
    user: Player,
    task: TicTacToeTask = START,
    seed: int = 0,
    steps: int = 1,
    turns: int = 5,
    self_play: bool = False,
    **options: Any,
) -> Played:
    environment = TicTacToe(TicTacToe.Options(**options))
    participants = {
        name: Participant(name, name, Sampling(), self_play, turns, steps) for name in TicTacToe.participants
    }
    models = {"policy": ScriptedModel(policy, {}, 0), "user": ScriptedModel(user, {}, 0)}
    spec = EpisodeSpec(f"episode-{seed}", "group", "task", 0, seed, task.model_dump_json())
    return await play(spec, Stage(environment, participants, models, LimitsSection()))


def move_to(position: int) -> Message:
    return Message("assistant", tool_calls=(ToolCall("call", "make_move", json.dumps({"position": position})),))


def script(*positions: int) -> Player:
    """Plays its positions in order, whatever it is shown, and breaks when it is asked for more."""
    remaining = iter(positions)
    return lambda request, rng: move_to(next(remaining))


def moves_of(episode: Episode) -> list[tuple[str, int]]:
    """Returns the moves that were made, with the participant of each, from the record alone."""
    asked = {(event.participant, event.turn, event.step): event for event in episode.events if event.kind == "message"}
    made = []
    for result in episode.events:
        if result.kind == "tool_result" and result.error is None:
            assert result.participant is not None
            (call,) = asked[result.participant, result.turn, result.step].tool_calls
            made.append((result.participant, json.loads(call.arguments)["position"]))
    return made


def end_of(played: Played) -> tuple[StopReason, str, float, float]:
    """Stop reason and text, the policy's reward and the user's."""
    assert played.status == "completed" and played.failure is None
    assert played.score is not None and played.episode.stop is not None
    stop = played.episode.stop
    return stop.reason, stop.text, played.score.reward, played.score.others["user"]


def told(episode: Episode, name: str) -> list[str]:
    return [message.content for message in episode.threads[name].messages if message.role == "user"]


def assert_marks_are_the_movers(played: Played) -> None:
    """Every mark on the final board is from the opening or from a call of its owner, and the turns alternate."""
    episode = played.episode
    cells = ["."] * 9
    for move in episode.task.initial_moves:
        cells[move.position] = move.mark
    moves = moves_of(episode)
    for name, position in moves:
        assert cells[position] == "."
        cells[position] = {"policy": "X", "user": "O"}[name]
    assert all(first != second for (first, _), (second, _) in pairwise(moves))
    assert episode.state.cells == "".join(cells)


async def test_games_are_played_to_their_end_and_scored_for_both() -> None:
    lost = await game(script(0, 1, 8), script(3, 4, 5))
    assert end_of(lost) == (StopReason.FINISHED, "O wins", 0, 1)
    drawn = await game(script(0, 1, 5, 6, 7), script(4, 2, 3, 8))
    assert end_of(drawn) == (StopReason.FINISHED, "draw", 0.5, 0.5)
    played = await game(script(0, 1, 2), script(3, 4))
    assert end_of(played) == (StopReason.FINISHED, "X wins", 1, 0)
    assert moves_of(played.episode) == [("policy", 0), ("user", 3), ("policy", 1), ("user", 4), ("policy", 2)]
    assert told(played.episode, "user")[0].startswith("X plays 0.\nX 1 2\n3 4 5\n6 7 8\n")
    assert told(played.episode, "policy")[1].startswith("O plays 3.\nX 1 2\nO 4 5\n")
    result = next(event.content for event in played.episode.events if event.kind == "tool_result")
    told_to_mover = {"success": True, "board": "X 1 2\n3 4 5\n6 7 8", "game_over": False, "winner": None}
    assert json.loads(result) == {**told_to_mover, "message": "X plays 0."}


@pytest.mark.parametrize("steps", [1, 3])
async def test_no_model_is_called_after_the_end(steps: int) -> None:
    played = await game(script(2), script(), task_of(X_WINS_AT_2), steps=steps)
    assert end_of(played) == (StopReason.FINISHED, "X wins", 1, 0)
    assert [event.kind for event in played.episode.events[-3:]] == ["message", "tool_result", "stop"]
    assert played.episode.usage.model_calls == 1


async def test_a_move_on_the_others_turn_is_refused_and_played_for_nobody() -> None:
    played = await game(script(0, 8, 1, 7, 2), script(3, 6, 4, 6), steps=2)
    assert_marks_are_the_movers(played)
    assert moves_of(played.episode) == [("policy", 0), ("user", 3), ("policy", 1), ("user", 4), ("policy", 2)]
    refused = [event for event in played.episode.events if event.error is not None]
    assert [event.participant for event in refused] == ["policy", "user", "policy", "user"]
    assert refused[0].error == "it is the turn of O, not of X; the empty cells are 1, 2, 3, 4, 5, 6, 7, 8"
    assert refused[1].error is not None and refused[1].error.startswith("it is the turn of X, not of O;")


async def test_neither_side_plays_the_others_mark_in_many_games() -> None:
    def eager(request: CompletionRequest, rng: random.Random) -> Message:  # any cell, whoever's turn it is
        return move_to(rng.randrange(9))

    refusals = 0
    for seed in range(60):
        played = await game(eager, eager, generated(1, seed), seed=seed, steps=2, self_play=True)
        assert played.status == "completed"
        assert_marks_are_the_movers(played)
        refusals += sum("it is the turn of" in (event.error or "") for event in played.episode.events)
    assert refusals > 100


async def test_a_refused_move_leaves_the_turn_where_it_was() -> None:
    played = await game(script(0, 0, 1, 2), script(0, 3, 4))
    assert [turn.speaker for turn in played.episode.turns[:3]] == ["policy", "user", "user"]
    first_error = next(event.error for event in played.episode.events if event.error is not None)
    assert first_error == "cell 0 is taken by X; the empty cells are 1, 2, 3, 4, 5, 6, 7, 8"
    again = told(played.episode, "user")[1]
    assert again.startswith("You have not made a legal move") and read_board(again) == "X........"
    assert len(told(played.episode, "policy")) == 1 + 2 + 1, "asked once at first, after two moves, and once again"
    assert moves_of(played.episode)[-1] == ("policy", 2)


async def test_the_first_message_shows_the_board_of_the_state() -> None:
    for moves, cells, first in [
        ((), ".........", "policy"),
        (O_OPENS, "X...O...O", "policy"),
        (((4, "O"),), "....O....", "policy"),
        (((4, "X"),), "....X....", "user"),
        (O_OPENS[:2], "X...O....", "user"),
    ]:
        episode = (await game(random_player, random_player, task_of(moves))).episode
        assert episode.turns[0].speaker == first
        openings = [event for event in episode.events if event.kind == "opening"]
        assert [event.participant for event in openings] == [first], "the other hears of the game by relay"
        assert read_board(openings[0].content) == cells and render(cells) in openings[0].content
        mark = {"policy": "X", "user": "O"}[first]
        assert f"You play {mark}. Your turn" in openings[0].content
        for name, own in (("policy", "X"), ("user", "O")):
            assert f"Your mark is {own}" in episode.threads[name].messages[0].content


MISBEHAVING = [occupied_player, prose_player, string_player]


@pytest.mark.parametrize("player", MISBEHAVING)
@pytest.mark.parametrize("side", ["policy", "user"])
async def test_misbehaving_players_end_by_limits(player: Player, side: str) -> None:
    players = {"policy": random_player, "user": random_player, side: player}
    played = await game(players["policy"], players["user"], task_of([(0, "O")]), self_play=True)
    assert end_of(played) == (StopReason.MAX_TURNS, side, 0, 0)
    assert played.episode.turns_of(side) == 5
    assert all(name != side for name, _ in moves_of(played.episode))


@pytest.mark.parametrize("player", MISBEHAVING)
async def test_a_simulated_user_without_a_legal_move_is_not_the_policys_fault(player: Player) -> None:
    played = await game(random_player, player, task_of([(0, "O")]))
    assert played.status == "failed" and played.score is None
    why = "5 of its 5 turns made no legal move, and none is left"
    assert played.failure == Failure(FailureKind.USER, "user", why)
    assert end_of(await game(player, random_player, task_of([(0, "O")])))[2:] == (0, 0), "the policy's own fault"


async def test_a_users_wasted_turns_count_only_where_they_keep_the_game_from_its_end() -> None:
    stuck = await game(script(0, 1, 5, 6, 7), script(4, 4, 2, 3, 3))
    assert stuck.failure == Failure(FailureKind.USER, "user", "2 of its 5 turns made no legal move, and none is left")
    mended = await game(script(0, 1, 5, 6, 7), script(4, 4, 2, 3, 8))
    assert end_of(mended) == (StopReason.FINISHED, "draw", 0.5, 0.5)
    cut_short = await game(script(0, 1, 5), script(4, 2), turns=2)
    assert end_of(cut_short) == (StopReason.MAX_TURNS, "policy", 0, 0)
    cut_by_limits = await game(script(0, 1, 5), script(4, 2), task_of([(8, "X")]), turns=2)
    assert end_of(cut_by_limits) == (StopReason.MAX_TURNS, "user", 0, 0), "all of the user's moves were legal"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("tic_tac_toe*.yaml")), ids=lambda path: path.stem)
def test_no_config_has_a_simulated_user_that_may_get_stuck(path: Path) -> None:
    config = read_config(path)
    user = config.participants["user"]
    scripted = config.models[user.model].engine == "scripted"
    assert scripted or user.trainable or config.environment.options["legal_moves_only"]


def test_the_last_board_of_a_text_is_read() -> None:
    text = f"was\n{render('X........')}\nis\n{render('X...O...X')}\nand so on"
    assert read_board(text) == "X...O...X"
    assert read_board(json.dumps({"board": render("XO.......")})) == "XO......."
    assert read_board("no board, only 0 1 2") is None


def test_generated_tasks_are_open_games_that_either_side_continues() -> None:
    tasks = [generated(5, index) for index in range(400)]
    following = {(len(task.initial_moves), task.board().next_mark) for task in tasks}
    assert following == {(0, "X")} | {(number, mark) for number in (1, 2, 3, 4) for mark in ("X", "O")}
    assert tasks == [generated(5, index) for index in range(400)]
    assert tasks != [generated(6, index) for index in range(400)]


@pytest.mark.parametrize(
    ("moves", "complaint"),
    [
        ([(4, "X"), (4, "O")], "initial_moves[1]: cell 4 is taken by X"),
        ([(4, "X"), (5, "X")], "initial_moves[1]: it is the turn of O, not of X"),
        ([*X_WINS_AT_2, (2, "X")], "the game is over: X wins"),
        ([*X_WINS_AT_2, (2, "X"), (8, "O")], "initial_moves[5]: the game is over: X wins"),
        ([(0, "X"), (4, "O"), (1, "X"), (2, "O"), (5, "X"), (3, "O"), (6, "X"), (8, "O"), (7, "X")], "over: draw"),
        ([(9, "X")], "less than or equal to 8"),
        ([(-1, "X")], "greater than or equal to 0"),
        ([(0, "Z")], "'X' or 'O'"),
    ],
)
def test_bad_tasks_are_rejected(moves: list[tuple[int, str]], complaint: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        task_of(moves)


def test_moves_are_not_read_from_earlier_tool_calls() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "make_move", "arguments": '{"position": 4}'}}
    earlier = [
        {"role": "user", "content": "Your turn."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "{}", "tool_call_id": "a"},
    ]
    with pytest.raises(ValidationError, match=r"messages: they have tool calls.*initial_moves"):
        TicTacToeTask.model_validate({"messages": earlier})
    TicTacToeTask.model_validate({"messages": earlier[:1]})


async def requests_of_a_game(legal_moves_only: bool) -> list[CompletionRequest]:
    requests = []

    def noting(request: CompletionRequest, rng: random.Random) -> Message:
        requests.append(request)
        return random_player(request, rng)

    await game(noting, random_player, task_of(O_OPENS), legal_moves_only=legal_moves_only)
    return requests


async def test_legal_moves_only_narrows_what_is_allowed_and_not_what_is_shown() -> None:
    whole = json.dumps(TicTacToe.tools["make_move"].schema.as_openai())
    requests = await requests_of_a_game(legal_moves_only=True)
    allowed = [request.allowed_tools[0].parameters["properties"]["position"]["enum"] for request in requests]
    assert len(allowed) > 1 and allowed[0] == [1, 2, 3, 5, 6, 7]
    assert all(len(later) == len(earlier) - 2 for earlier, later in pairwise(allowed))
    assert {json.dumps(request.tools[0].as_openai()) for request in requests} == {whole}
    assert json.dumps(TicTacToe.tools["make_move"].schema.as_openai()) == whole, "the class's schema is shared"
    assert "enum" not in whole and '"minimum": 0' in whole and '"maximum": 8' in whole
    unconstrained = await requests_of_a_game(legal_moves_only=False)
    assert all(request.allowed_tools == request.tools for request in unconstrained)
