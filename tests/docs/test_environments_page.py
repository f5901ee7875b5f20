"""Every example of docs/environments.md, cut out of the page and played."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playing_tasks import call_of, play_group, play_task, reward_of, says

from ray_gym import Environment, Message
from ray_gym.errors import FailureKind
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player
from ray_gym.play.play import Played
from ray_gym.tools.runner import ToolRunner

PAGE = Path(__file__).resolve().parents[2] / "docs" / "environments.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
EXAMPLES = {
    "Sum", "Stock", "GuessTheNumber", "Helpdesk", "Shares", "Polite", "Poem", "Contest",
}  # fmt: skip


def environment(name: str) -> Environment[Any, Any]:
    block = next(block for block in BLOCKS if f"class {name}(" in block)
    names: dict[str, Any] = {"__name__": "docs_environments"}
    exec(block, names)
    made: Environment[Any, Any] = names[name]()
    return made


async def play(name: str, fields: Mapping[str, Any], runner: ToolRunner | None = None, **players: Player) -> Played:
    example = environment(name)
    return await play_task(example, example.task_type(**fields), players, runner=runner, limits={"max_turns": 3})


def test_every_environment_of_the_page_is_played_here() -> None:
    assert set(re.findall(r"^class (\w+)\((?!Task)", "\n".join(BLOCKS), re.MULTILINE)) == EXAMPLES


@pytest.mark.parametrize(("said", "reward"), [("It is \\boxed{5}.", 1), ("It is 5.", 0), ("\\boxed{6}", 0)])
async def test_single_step(said: str, reward: float) -> None:
    assert reward_of(await play("Sum", {"first": 2, "second": 3}, policy=says(said))) == reward


async def test_a_row_with_an_earlier_conversation() -> None:
    (row,) = re.findall(r"^```json\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    example = environment("Sum")
    task = example.task_type.model_validate_json(row)
    played = await play_task(example, task, {"policy": says("\\boxed{5}")})
    assert reward_of(played) == 1
    shown = [(event.role, event.content) for event in played.episode.events if event.kind == "opening"]
    assert shown[1] == ("assistant", "6") and len(shown) == 3


async def test_multi_step() -> None:
    apples = call_of("book", '{"product": "apples", "count": 5}')
    pears = call_of("book", '{"product": "pears", "count": 2}')
    assert reward_of(await play("Stock", {}, policy=says(apples, pears, "Done."))) == 1
    assert reward_of(await play("Stock", {}, policy=says(apples, apples, pears, "Done."))) == 0


async def test_multi_turn() -> None:
    policy, user = says("5?", "6?", "7?"), says("higher", "It is right.")
    assert reward_of(await play("GuessTheNumber", {"secret": 6}, policy=policy, user=user)) == 0.5
    assert reward_of(await play("GuessTheNumber", {"secret": 6}, policy=says("5?"), user=says("higher"))) == 0
    bright = says("A bright idea, but higher.", "Right!")
    assert reward_of(await play("GuessTheNumber", {"secret": 6}, policy=policy, user=bright)) == 0.5


async def test_user_modelling() -> None:
    task = {"persona": "You are shy.", "goal": "Get your internet back."}
    user = says("My internet is gone.", call_of("press_the_button", "{}"), "It is green now.")
    policy = says("Please press the button.", call_of("line_test", "{}"), "Glad I could help!")
    played = await play("Helpdesk", task, user=user, policy=policy, judge=says("I NOticed nothing wrong: [[YES]]"))
    assert reward_of(played) == 1 and played.episode.stop is not None and played.episode.stop.text == "closed"
    results = [event for event in played.episode.events if event.kind == "tool_result"]
    assert [(event.participant, event.content) for event in results] == [
        ("user", "its lamp is green"),
        ("policy", "online"),
    ]


async def test_a_user_who_leaves_its_role_is_the_user_s_fault() -> None:
    task = {"persona": "You are shy.", "goal": "Get your internet back."}
    played = await play(
        "Helpdesk", task, user=says("I am an AI."), policy=says("Glad I could help!"), judge=says("[[NO]]")
    )
    assert played.score is None and played.failure is not None and played.failure.kind == FailureKind.USER


async def test_graders_from_the_cheapest_to_the_dearest() -> None:
    cases = [
        ("Answer: 6/8", "[[DIFFERENT]]", 1),  # found by the words alone: nobody else is asked
        ("Answer: 0.75", "[[DIFFERENT]]", 1),
        ("Answer: three quarters", "[[SAME]]", 1),
        ("Answer: a third [[SAME]]", "[[DIFFERENT]]", 0.1),
        ("6/8", "[[DIFFERENT]]", 0),
    ]
    runner, task = ToolRunner(), {"part": 6, "whole": 8}
    try:
        for said, judged, reward in cases:
            played = await play("Shares", task, runner, policy=says(said), judge=says(judged))
            assert reward_of(played) == pytest.approx(reward), said
    finally:
        await runner.close()


@pytest.mark.parametrize(
    ("said", "reward"),
    [
        (["Go left, please.", "Right, please.", "Stop, please."], 1),
        (["Go left.", "Right, please.", "Stop, please."], 1),  # mean 2/3, later ones weigh more
        (["Go left, please.", "Right.", "Stop."], 0),
        (["Go left, please.", "Pleased to help.", "I am pleased."], 0),
        (["Go left, please.", "please " * 40, "Stop, please."], 0),
    ],
)
async def test_turns_and_constraints(said: list[str], reward: float) -> None:
    assert reward_of(await play("Polite", {}, policy=says(*said), user=says("Where now?"))) == reward


async def test_reward_models() -> None:
    assert reward_of(await play("Poem", {}, policy=says("Blue."), reward_model=says("-1.5"))) == -1.5
    contest = environment("Contest")
    group = await play_group(
        contest,
        contest.task_type(),
        [{"policy": says("Grey.")}, {"policy": says("Blue.")}],
        judges={"reward_model": likes_blue},
    )
    assert [reward_of(played) for played in group] == [0, 1]


def likes_blue(request: CompletionRequest, rng: random.Random) -> Message:
    blue_first = "1. Blue" in request.messages[-1].content
    return Message("assistant", "Scores: 5, 1\nRanking: 1" if blue_first else "Scores: 1, 5\nRanking: 6")
