"""Compares games of Gymnasium by text with the library driven directly."""

from __future__ import annotations

import dataclasses
import datetime
import json
import random
import subprocess
import sys
from decimal import Decimal
from typing import Any

import gymnasium
import numpy as np
import pytest
from conftest import REPOSITORY
from playing_tasks import generated, play_task, reward_of, says
from pydantic import ValidationError

from ray_gym.envs.gymnasium import GymnasiumEnvironment
from ray_gym.envs.gymnasium.actions import BadAction, describe_action, is_writable, read_action
from ray_gym.envs.gymnasium.environment import GymnasiumTask
from ray_gym.envs.gymnasium.observations import as_text, without_escapes
from ray_gym.envs.gymnasium.players import planned_player
from ray_gym.errors import UserError

LIMITS = {"max_turns": 300}
NAMES = ["left", "down", "right", "up"]
LAKE = {"name": "FrozenLake-v1", "arguments": {"is_slippery": False}}


def environment(**options: Any) -> GymnasiumEnvironment:
    return GymnasiumEnvironment(GymnasiumEnvironment.Options(**options))


def action(text: object) -> str:
    return f"<action>{text}</action>"


def driven(name: str, seed: int, choices: int, steps: int, **arguments: Any) -> tuple[list[Any], float, list[str]]:
    """A random walk in the library itself: its actions, the sum of its rewards, and what was observed."""
    game = gymnasium.make(name, **arguments)
    rng = random.Random(seed)
    first, _ = game.reset(seed=seed)
    actions, total, seen = [], 0.0, [as_text(first)]
    for _ in range(steps):
        if isinstance(game.action_space, gymnasium.spaces.Box):
            written: Any = round(rng.uniform(-1, 1), 3)
            observation, reward, terminated, truncated, _ = game.step(np.array([written], dtype=np.float32))
        else:
            written = rng.randrange(choices)
            observation, reward, terminated, truncated, _ = game.step(written)
        actions.append(written)
        total += float(reward)
        seen.append(as_text(observation))
        if terminated or truncated:
            break
    return actions, total, seen


GAMES = [
    ("FrozenLake-v1", 4, {}),
    ("FrozenLake-v1", 4, {"is_slippery": False}),
    ("FrozenLake8x8-v1", 4, {}),
    ("Taxi-v4", 6, {}),
    ("CliffWalking-v1", 4, {}),
    ("CliffWalkingSlippery-v1", 4, {}),
    ("Blackjack-v1", 2, {"natural": True}),
    ("CartPole-v1", 2, {}),
    ("MountainCar-v0", 3, {}),
    ("Acrobot-v1", 3, {}),
    ("Pendulum-v1", 0, {"g": 9.5}),
    ("MountainCarContinuous-v0", 0, {}),
]


@pytest.mark.parametrize(("name", "choices", "arguments"), GAMES)
async def test_rewards_and_observations_are_the_librarys(name: str, choices: int, arguments: dict[str, Any]) -> None:
    game = environment(name=name, arguments=arguments, max_steps=20)
    for seed in range(4):
        actions, total, seen = driven(name, seed, choices, 20, **arguments)
        played = await play_task(game, GymnasiumTask(seed=seed), {"policy": planned_player(actions)}, limits=LIMITS)
        assert reward_of(played) == pytest.approx(total, abs=1e-9)
        told = [message.content for message in played.episode.threads["policy"].messages if message.role == "user"]
        assert [text.rpartition("Observation: ")[2] for text in told] == seen
        assert played.episode.state.steps == len(actions)


@pytest.mark.parametrize(
    ("options", "best"),
    [
        (LAKE, {1.0}),
        ({"name": "FrozenLake8x8-v1", "arguments": {"is_slippery": False}}, {1.0}),
        ({"name": "CliffWalking-v1"}, {-13.0}),
    ],
)
async def test_a_perfect_player_gets_the_most(options: dict[str, Any], best: set[float]) -> None:
    game = environment(**options, max_steps=20)
    for index in range(70):
        task = generated(game, index)
        assert {reward_of(await play_task(game, task, limits=LIMITS))} == best


@pytest.mark.parametrize(("name", "shortest"), [("FrozenLake-v1", 6), ("FrozenLake8x8-v1", 14)])
async def test_a_perfect_player_does_not_dawdle(name: str, shortest: int) -> None:
    """The player takes the shortest path, even if enough steps are left for detours."""
    game = environment(name=name, arguments={"is_slippery": False}, max_steps=50)
    played = await play_task(game, generated(game, 0), limits=LIMITS)
    assert (reward_of(played), played.episode.state.steps) == (1, shortest)


async def test_a_perfect_taxi_brings_everybody_there() -> None:
    game = environment(name="Taxi-v4", max_steps=20)
    for index in range(20):
        played = await play_task(game, generated(game, index), limits=LIMITS)
        assert (
            reward_of(played) >= 3 and played.episode.stop is not None
        )  # 20 for the passenger, -1 for each of up to 17 steps
        assert played.episode.stop.text == "terminated"


def test_chance_and_unknown_rules_have_no_perfect_player() -> None:
    for name in ("FrozenLake-v1", "Blackjack-v1", "CartPole-v1"):
        assert environment(name=name).perfect(GymnasiumTask(seed=1)) == {}


def test_tasks_come_from_the_seed() -> None:
    game = environment(**LAKE)
    tasks = [generated(game, index).model_dump_json() for index in range(1000)]
    assert len(set(tasks)) >= 990
    assert tasks == [generated(game, index).model_dump_json() for index in range(1000)]


@pytest.mark.parametrize(
    ("answers", "told", "outcome"),
    [
        (["I go right."], "Nothing was done: there is no action between tags.", "too many mistakes"),
        ([action("sideways")], "Nothing was done: 'sideways' is not what was asked for.", "too many mistakes"),
        ([action(4)], "Nothing was done: it is out of range.", "too many mistakes"),
        ([action(-1)], "Nothing was done: it is out of range.", "too many mistakes"),
        ([action(1.5)], "Nothing was done: whole numbers were expected.", "too many mistakes"),
        ([action("1 2")], "Nothing was done: 1 numbers were expected, not 2.", "too many mistakes"),
        ([action("")], "Nothing was done: there is no action between tags.", "too many mistakes"),
        (["<action>1"], "Nothing was done: there is no action between tags.", "too many mistakes"),
        ([action("1e999")], "Nothing was done: a finite number was expected.", "too many mistakes"),
        ([action("right"), action(" DOWN ")], "Observation: 5", "terminated"),
        ([action(0)], "Observation: 0", "max_steps"),
    ],
)
async def test_mistakes_are_told_and_end_the_game(answers: list[str], told: str, outcome: str) -> None:
    game = environment(**LAKE, action_names=NAMES, unfinished=-1, max_steps=4)
    played = await play_task(game, GymnasiumTask(seed=1), {"policy": says(*answers)}, limits=LIMITS)
    relayed = [event.content for event in played.episode.events if event.kind == "relay"]
    assert any(told in text for text in relayed)
    assert played.episode.stop is not None and played.episode.stop.text == outcome
    assert reward_of(played) == (0 if outcome == "terminated" else -1)


async def test_a_limit_of_the_run_leaves_what_was_earned() -> None:
    played = await play_task(
        environment(name="CliffWalking-v1"), GymnasiumTask(seed=1), {"policy": says(action(0))}, limits={"max_turns": 4}
    )
    assert reward_of(played) == -4


async def test_the_opening_says_what_an_action_is_and_shows_the_picture() -> None:
    played = await play_task(environment(**LAKE, action_names=NAMES), GymnasiumTask(seed=1), limits=LIMITS)
    system, first = played.episode.threads["policy"].messages[:2]
    assert "one of 0 (left), 1 (down), 2 (right), 3 (up), by number or name" in system.content
    assert first.content == "[S red]FFF\nFHFH\nFFFH\nHFFG\nObservation: 0"
    bare = await play_task(environment(**LAKE, shown="space"), GymnasiumTask(seed=1), limits=LIMITS)
    assert bare.episode.threads["policy"].messages[1].content == "Observation: 0"


def test_pictures_keep_their_colours_by_name() -> None:
    assert without_escapes("\n\x1b[34;1mR\x1b[0m: |\x1b[43m \x1b[0m:\n") == "[R blue]: |[  yellow]:"


Seen = dataclasses.make_dataclass("Seen", ["near", "hidden_goal"])
Graph = gymnasium.spaces.GraphInstance


@pytest.mark.parametrize(
    ("observation", "shown"),
    [
        (np.array([np.nan, np.inf, -1.23456789]), '["NaN", "Infinity", -1.23457]'),
        ({"near": np.float32("-inf"), "left": True, 1: None}, '{"near": "-Infinity", "left": true, "1": null}'),
        (Graph(np.array([[1]]), None, None), "[[[1]], null, null]"),
        ({(0, 1): "wall", 0.5: "door"}, '{"(0, 1)": "wall", "0.5": "door"}'),
        ((datetime.date(2026, 1, 2), Decimal("1.50")), '["2026-01-02", "1.50"]'),
        ("Größe", "Größe"),
    ],
)
def test_observations_are_json(observation: Any, shown: str) -> None:
    assert as_text(observation) == shown


@pytest.mark.parametrize(
    ("observation", "told"),
    [
        (Seen(1, "SECRET"), "a Seen, of which all might be shown"),
        ({"seen": [Seen(1, "SECRET")]}, "a Seen"),
        (np.array([Seen(1, "SECRET")], dtype=object), "a Seen"),
        ({(0, Seen): 1}, "a type"),
        ({"a": b"\xff"}, "a bytes"),
        ({"left", "right"}, "a set"),
        ({1: 1, "1": 2}, "2 keys that are all '1' in JSON"),
    ],
)
def test_an_observation_that_might_show_what_is_hidden_is_refused(observation: Any, told: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^the game's observation can't be shown: .*{told}"):
        as_text(observation)


class Careless(gymnasium.Env[Any, Any]):
    """Its second observation is an object with all that it knows."""

    action_space = observation_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return 0, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return Seen(1, "SECRET"), 1.0, False, False, {}


async def test_an_observation_that_is_refused_is_the_environments_fault() -> None:
    gymnasium.register("Careless-v0", entry_point=Careless, order_enforce=False)
    players = {"policy": says(action(1))}
    played = await play_task(environment(name="Careless-v0"), GymnasiumTask(seed=1), players, limits=LIMITS)
    assert played.failure is not None and played.failure.kind == "environment"
    assert "can't be shown: it returned a Seen" in played.failure.message and "SECRET" not in str(played.failure)


UNBOUNDED = gymnasium.spaces.Box(-np.inf, np.inf, (1,))
SPACES: list[tuple[Any, str, Any]] = [
    (gymnasium.spaces.Discrete(3, start=5), "7", 7),
    (gymnasium.spaces.MultiDiscrete([2, 3]), "[1, 2]", [1, 2]),
    (gymnasium.spaces.MultiDiscrete([[2, 3], [4, 5]]), "1 2 3 4", [[1, 2], [3, 4]]),
    (gymnasium.spaces.MultiBinary(3), "(0, 1, 1)", [0, 1, 1]),
    (gymnasium.spaces.Discrete(3), " ( [2] )", 2),
    (gymnasium.spaces.Tuple([gymnasium.spaces.MultiBinary(2)]), "[[1, 0]]", [[1, 0]]),
    (gymnasium.spaces.Text(5), "go", "go"),
    (gymnasium.spaces.Box(-2, 2, (2,), np.float32), "-1.5, 2e-1", [-1.5, np.float32(0.2)]),
    (gymnasium.spaces.Box(0, 9, (), np.int64), "4", 4),
    (gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2), gymnasium.spaces.Text(3)]), '[1, "ab"]', (1, "ab")),
    (gymnasium.spaces.Dict({"gas": gymnasium.spaces.Box(0, 1, (1,))}), '{"gas": 0.5}', {"gas": [0.5]}),
]


@pytest.mark.parametrize(("space", "text", "value"), SPACES)
def test_actions_of_every_space_are_read(space: Any, text: str, value: Any) -> None:
    found = read_action(space, text)
    assert is_writable(space) and describe_action(space) and space.contains(found)
    assert json.loads(as_text(found)) == json.loads(as_text(value)) if not isinstance(found, str) else found == value


@pytest.mark.parametrize(
    "text", ["0 (left)", "left", "LEFT", "**left**", "`left`", '"left"', "left.", "**0 (Left)**", '"left".', "0"]
)
def test_the_name_of_an_action_may_have_signs_around_it(text: str) -> None:
    assert read_action(gymnasium.spaces.Discrete(2), text, ("left", "right")) == 0


@pytest.mark.parametrize("text", ["1 (left)", "left or right", "left (0)", "not left", "**", ""])
def test_other_words_name_no_action(text: str) -> None:
    with pytest.raises(BadAction):
        read_action(gymnasium.spaces.Discrete(2), text, ("left", "right"))


@pytest.mark.parametrize(
    ("space", "text", "told"),
    [
        (gymnasium.spaces.MultiDiscrete([2, 3]), "1", "2 numbers were expected, not 1"),
        (gymnasium.spaces.MultiDiscrete([2, 3]), "2 2", "out of range"),
        (gymnasium.spaces.MultiBinary(2), "0.5 1", "whole numbers were expected"),
        (gymnasium.spaces.Text(2), "long", "out of range"),
        (gymnasium.spaces.Box(-2, 2, (1,)), "3", "out of range"),
        (gymnasium.spaces.Box(-2, 2, (1,)), "nan", "is not what was asked for"),
        (gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2)]), "1,", "it is no JSON"),
        (gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2)]), "[1, 1]", "the parts that were asked for"),
        (gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2)]), '["x"]', "a number was expected"),
        (gymnasium.spaces.Tuple([gymnasium.spaces.Text(2)]), "[1]", "out of range"),
        (gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2)]), "[" * 9999, "it is no JSON"),
        (gymnasium.spaces.Discrete(2), "9" * 400, "a finite number was expected"),
        (gymnasium.spaces.Discrete(2), "[1", "is not what was asked for"),
        (gymnasium.spaces.Discrete(2), "1)", "is not what was asked for"),
        (gymnasium.spaces.MultiDiscrete([2, 3]), "[1, 2)", "is not what was asked for"),
        (gymnasium.spaces.MultiDiscrete([2, 3]), "]1, 2[", "is not what was asked for"),
        (gymnasium.spaces.MultiDiscrete([2, 3]), "(1), (2)", "is not what was asked for"),
        (gymnasium.spaces.Discrete(2), "[]", "is not what was asked for"),
        (UNBOUNDED, "1e39", "out of range"),
        (UNBOUNDED, "1e999", "a finite number was expected"),
        (gymnasium.spaces.Tuple([UNBOUNDED]), "[NaN]", "a finite number was expected"),
        (gymnasium.spaces.Tuple([UNBOUNDED]), "[[-Infinity]]", "a finite number was expected"),
        (gymnasium.spaces.Tuple([UNBOUNDED]), '["1"]', "a number was expected"),
        (gymnasium.spaces.Tuple([UNBOUNDED]), "[null]", "a number was expected"),
        (gymnasium.spaces.Tuple([UNBOUNDED]), "[" * 500 + "1" + "]" * 500, "a number was expected"),
        (gymnasium.spaces.Tuple([UNBOUNDED]), "[1" + "0" * 400 + "]", "a number was expected"),
        (gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2)]), "[true]", "a number was expected"),
        (gymnasium.spaces.Dict({"on": gymnasium.spaces.MultiBinary(2)}), '{"on": [1, false]}', "a number was expected"),
        (gymnasium.spaces.Discrete(2), "99999999999999999999", "out of range"),
    ],
)
def test_actions_that_do_not_fit_are_refused(space: Any, text: str, told: str) -> None:
    with pytest.raises(BadAction, match=told):
        read_action(space, text)


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "down",
        "Down",
        "1 (down)",
        "1 (Down).",
        "**down**",
        "`down`",
        '"down"',
        "down.",
        "**1**",
        "`1`",
        '"1"',
        "(1)",
        "*down*.",
    ],
)
def test_an_action_may_be_written_as_the_prompt_lists_it(text: str) -> None:
    assert read_action(gymnasium.spaces.Discrete(4), text, NAMES) == 1


@pytest.mark.parametrize("text", ["0 (down)", "4 (down)", "down or up", "1 down", "not down", ".", "**", "4"])
def test_other_actions_are_still_refused(text: str) -> None:
    with pytest.raises(BadAction):
        read_action(gymnasium.spaces.Discrete(4), text, NAMES)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"name": "FrozenLak-v1"}, "FrozenLak-v1: NameNotFound"),
        ({"name": "FrozenLake-v1", "arguments": {"slippery": True}}, "unexpected keyword argument 'slippery'"),
        ({"name": "FrozenLake-v1", "action_names": ["up"]}, "action_names: 1 names for the actions of Discrete"),
        ({"name": "CartPole-v1", "shown": "ansi"}, "CartPole-v1 does not render as ansi"),
        ({"name": "nowhere.to:Be-v0"}, "nowhere"),
        ({"name": "FrozenLake-v1", "max_steps": 0}, "greater than or equal to 1"),
    ],
)
def test_games_that_there_are_not_are_wrong_options(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        environment(**options)


def test_rows_are_checked() -> None:
    rows = (REPOSITORY / "envs/gymnasium/example.jsonl").read_text().splitlines()
    assert len(rows) == 5
    game = environment(**LAKE)
    for row in rows:
        game.check(GymnasiumTask.model_validate_json(row))
    with pytest.raises(ValueError, match="unexpected keyword argument 'depth'"):
        game.check(GymnasiumTask(seed=1, arguments={"depth": 3}))
    for row, told in [("{}", "seed"), ('{"seed": -1}', "greater than or equal to 0"), ('{"seed": 1, "a": 1}', "a")]:
        with pytest.raises(ValidationError, match=told):
            GymnasiumTask.model_validate_json(row)


async def test_example_rows_are_played() -> None:
    for row in (REPOSITORY / "envs/gymnasium/example.jsonl").read_text().splitlines():
        played = await play_task(environment(**LAKE), GymnasiumTask.model_validate_json(row), limits=LIMITS)
        assert reward_of(played) == 1


def test_without_the_library_it_is_listed_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(UserError, match=r"install 'ray-gym\[adapters\]'"):
        environment(**LAKE)


def test_the_folders_name_does_not_hide_the_library() -> None:
    code = (
        "import sys; sys.path.append(sys.argv[1]); from ray_gym.envs.gymnasium.library import library; library().make"
    )
    folder = REPOSITORY / "envs/gymnasium"
    subprocess.run([sys.executable, "-c", code, str(REPOSITORY)], cwd=folder, check=True)
