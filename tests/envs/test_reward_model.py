"""Checks open-ended prompts with a scalar reward model, their tasks, options and players.

Comparisons have a file of their own.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playing_tasks import generated, play_task, reward_of, says
from pydantic import ValidationError

import ray_gym.envs.reward_model
from ray_gym import Message
from ray_gym.envs.reward_model import OpenEnded
from ray_gym.envs.reward_model.environment import OpenEndedTask, sigmoid
from ray_gym.envs.reward_model.players import HIGHEST_QUALITY, comparing_player, quality, scalar_player
from ray_gym.envs.reward_model.question import question
from ray_gym.errors import FailureKind
from ray_gym.models.base import CompletionRequest, Sampling
from ray_gym.models.player import Player

BEES = OpenEndedTask(prompt="Explain how bees find their way home.")
TALK = OpenEndedTask.model_validate(
    {
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Ask me something."},
            {"role": "assistant", "content": "What is your favourite colour?"},
            {"role": "user", "content": "Blue. Write a poem about it."},
        ]
    }
)


def answers(number: str) -> Mapping[str, Player]:
    return {"reward_model": says(number)}


def asked(request: CompletionRequest) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in request.messages]


# ---- scalar ----


@pytest.mark.parametrize(
    ("said", "reward"), [("0.25", 0.25), ("-17.5", -17.5), (" 3\n", 3), ("1e3", 1000), ("-0", 0), ("12.5", 12.5)]
)
async def test_the_number_is_the_reward(said: str, reward: float) -> None:
    played = await play_task(OpenEnded(), BEES, answers(said))
    assert reward_of(played) == reward
    assert played.score is not None and played.score.parts == {"reward_model": reward}


@pytest.mark.parametrize(
    ("said", "reward"), [("0", 0.5), ("2", 0.880797), ("-2", 0.119203), ("1e300", 1), ("-1e300", 0)]
)
async def test_a_sigmoid_squashes_it(said: str, reward: float) -> None:
    environment = OpenEnded(OpenEnded.Options(squash="sigmoid"))
    played = await play_task(environment, BEES, answers(said))
    assert reward_of(played) == pytest.approx(reward, abs=1e-6)
    assert played.score is not None and played.score.parts == {"reward_model": float(said)}


def test_the_range_of_rewards_depends_on_the_options() -> None:
    assert OpenEnded().reward_range == (-math.inf, math.inf)
    assert OpenEnded(OpenEnded.Options(squash="sigmoid")).reward_range == (0, 1)
    assert OpenEnded(OpenEnded.Options(kind="comparison")).reward_range == (0, 1)
    assert [sigmoid(value) for value in (-1e6, 0, 1e6)] == [0, 0.5, 1]


@pytest.mark.parametrize("said", ["good", "", "nan", "inf", "4 of 5", "1,5"])
async def test_an_answer_that_is_no_number_is_the_reward_models_failure(said: str) -> None:
    played = await play_task(OpenEnded(), BEES, answers(said))
    assert played.status == "failed" and played.score is None and played.failure is not None
    assert (played.failure.kind, played.failure.where) == (FailureKind.JUDGE, "reward_model")


async def test_the_reward_model_sees_the_whole_conversation() -> None:
    seen = []

    def noting(request: CompletionRequest, rng: random.Random) -> Message:
        seen.extend(asked(request))
        return Message("assistant", "1")

    await play_task(OpenEnded(), TALK, {"policy": says("Blue is the sky."), "reward_model": noting})
    assert seen == [
        ("system", "Be kind."),
        ("user", "Ask me something."),
        ("assistant", "What is your favourite colour?"),
        ("user", "Blue. Write a poem about it."),
        ("assistant", "Blue is the sky."),
    ]


# ---- players ----


@pytest.mark.parametrize("index", range(0, 200, 50))
async def test_a_perfect_player_gets_the_highest_number_there_is(index: int) -> None:
    environment = OpenEnded()
    for number in range(index, index + 50):
        task = generated(environment, number)
        played = await play_task(environment, task)
        assert reward_of(played) == HIGHEST_QUALITY, task


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("", 0),
        ("no", 0),
        ("No.", 1),
        ("no no no no", -0.75),
        ("bees find their home", 4 / 5),
        ("Explain: bees find their home!", 2),
        (" ".join(f"word{'abcdefghijklmnopqrstuvwxyz'[n]}" for n in range(20)), 1),
        (" ".join(["stop."] * 121), 1 - 120 / 121),
    ],
)
def test_the_features_that_the_scripted_reward_models_look_at(answer: str, value: float) -> None:
    assert quality(BEES.prompt, answer) == pytest.approx(value)


def test_the_scripted_reward_models_look_at_the_last_request() -> None:
    messages = [Message("user", "Say apple."), Message("assistant", "apple"), Message("user", "Write pear.")]
    seen = CompletionRequest([*messages, Message("assistant", "write pear")], Sampling(), "session", seed=0)
    assert scalar_player(seen, random.Random(0)).content == "1.000000"
    seen.messages = [Message("user", question(messages, "apple", "write pear"))]
    assert comparing_player(seen, random.Random(0)).content == "Scores: 3, 5\nRanking: 4"
    seen.messages = messages
    assert comparing_player(seen, random.Random(0)).content == "I see no two answers."


# ---- tasks and options ----


def test_generated_tasks_are_many_and_the_same_from_the_same_seed() -> None:
    environment = OpenEnded()
    tasks = [generated(environment, index) for index in range(1000)]
    assert len({task.model_dump_json() for task in tasks}) >= 990
    assert 180 < sum(bool(task.messages) for task in tasks) < 320
    assert tasks[:100] == [generated(environment, index) for index in range(100)]
    assert tasks[:100] != [generated(environment, index, seed=1) for index in range(100)]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({}, "set one of prompt (a text) and messages (a conversation)"),
        ({"prompt": "  "}, "set one of prompt (a text) and messages"),
        ({"prompt": "\u200b"}, "set one of prompt (a text) and messages"),
        ({"prompt": "Hi", "messages": "Hi"}, "set one of prompt (a text) and messages"),
        (
            {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]},
            "messages: the last is the assistant's; only the user's can be answered",
        ),
        ({"messages": [{"role": "system", "content": "Hi"}]}, "messages: the last is the system's"),
        ({"messages": [{"role": "judge", "content": "Hi"}]}, "messages[0]: role 'judge' is none of"),
        ({"question": "Hi"}, "Extra inputs are not permitted"),
    ],
)
def test_bad_rows_are_refused(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        OpenEndedTask.model_validate(row)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"kind": "comparison", "squash": "sigmoid"}, "squash: no option of kind comparison"),
        ({"kind": "comparison", "too_long": 0}, "too_long: no option of kind comparison"),
        ({"pairs": "all", "unreadable": "fail"}, "pairs, unreadable: no option of kind scalar"),
        ({"kind": "best"}, "'scalar' or 'comparison'"),
        ({"kind": "comparison", "retries": -1}, "greater than or equal to 0"),
    ],
)
def test_options_that_say_nothing_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        OpenEnded.Options(**options)


async def test_the_example_rows_are_played() -> None:
    rows = Path(ray_gym.envs.reward_model.__file__).with_name("example.jsonl").read_text().splitlines()
    tasks = [OpenEndedTask.model_validate_json(row) for row in rows]
    assert len(tasks) == 5 and sum(bool(task.messages) for task in tasks) == 2
    for task in tasks:
        assert reward_of(await play_task(OpenEnded(), task)) == HIGHEST_QUALITY
