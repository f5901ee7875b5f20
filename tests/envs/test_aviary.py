"""Compares environments of aviary, with the tools that they bring, with the library driven directly."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import aviary_games
import pytest
from aviary.core import DummyEnv, ToolCall, ToolRequestMessage
from aviary.core import Message as Said
from conftest import REPOSITORY
from playing_tasks import generated, play_task, reward_of, says
from pydantic import ValidationError

from ray_gym import Message
from ray_gym import ToolCall as Called
from ray_gym.envs.aviary import Aviary
from ray_gym.envs.aviary.environment import AviaryTask
from ray_gym.errors import FailureKind, UserError
from ray_gym.play.play import Played

SAFE = "aviary_games:Safe"
Action = list[tuple[str, dict[str, Any]]] | str
"""The calls of a message, or one without any."""


def environment(**options: Any) -> Aviary:
    return Aviary(Aviary.Options(**options))


def message(*calls: tuple[str, Any], text: str = "") -> Message:
    texts = [(name, given if isinstance(given, str) else json.dumps(given)) for name, given in calls]
    return Message("assistant", text, tool_calls=tuple(Called(f"c{i}", *call) for i, call in enumerate(texts)))


async def play(game: Aviary, *actions: Message | str, task: AviaryTask | None = None) -> Played:
    limits = {"max_turns": len(actions), "max_steps_per_turn": 1}
    return await play_task(game, task or AviaryTask(), {"policy": says(*actions)}, limits=limits)


def results(played: Played) -> list[str]:
    return [event.content for event in played.episode.events if event.kind in ("tool_result", "relay")]


async def driven(made: Any, actions: Sequence[Action]) -> float:
    """Returns the sum of the library's rewards."""
    await made.reset()
    total = 0.0
    for number, action in enumerate(actions):
        if isinstance(action, str):
            said: Any = Said(role="assistant", content=action)
        else:
            calls = [ToolCall.from_name(name, id=f"{number}/{i}", **given) for i, (name, given) in enumerate(action)]
            said = ToolRequestMessage(tool_calls=calls)
        _, reward, done, truncated = await made.step(said)
        total += reward
        if done or truncated:
            break
    return total


def guess(number: int) -> tuple[str, dict[str, Any]]:
    return "guess", {"number": number}


STORY = ("print_story", {"story": "once"})
PUT = ("put", {"thing": "a pear"})
PLAYS: list[tuple[str, dict[str, Any], Any, list[Action]]] = [
    ("dummy", {}, DummyEnv, [[STORY]]),
    ("dummy", {"task": "cats", "end_immediately": False}, DummyEnv, [[STORY], [("cast_int", {"x": 2.5})], "The end."]),
    ("dummy", {"end_immediately": False}, DummyEnv, [[STORY, ("cast_float", {"x": "2.5"})], [STORY]]),
    ("dummy", {"concurrent_tool_calls": False}, DummyEnv, ["Once upon a time", [("cast_int", {"x": 1})], [STORY]]),
    ("aviary.core:DummyEnv", {}, DummyEnv, ["no", "no"]),
    (SAFE, {"seed": 3}, aviary_games.Safe, [[guess(number)] for number in range(1, 9)]),
    (SAFE, {"seed": 3, "guesses": 2}, aviary_games.Safe, [[guess(1)], [("look", {})], "hm", [guess(2)], [guess(3)]]),
    (SAFE, {"seed": 3}, aviary_games.Safe, [[guess(1), guess(2)], "I give up"]),
    ("aviary_games:basket", {"fruit": "pears"}, aviary_games.basket, [[PUT], [PUT], [PUT]]),
    ("aviary_games:basket", {"fruit": "pears"}, aviary_games.basket, [[PUT, PUT], "Is that enough?", [PUT]]),
    ("aviary_games:basket", {"fruit": "pears"}, aviary_games.basket, [[PUT, PUT, PUT, PUT]]),
]


@pytest.mark.parametrize(("name", "arguments", "make", "actions"), PLAYS)
async def test_rewards_are_the_librarys(name: str, arguments: dict[str, Any], make: Any, actions: list[Action]) -> None:
    said = [action if isinstance(action, str) else message(*action) for action in actions]
    played = await play(environment(environment=name, arguments=arguments), *said)
    assert reward_of(played) == await driven(make(**arguments), actions)


async def test_observations_tools_and_the_end_are_the_librarys() -> None:
    aviary_games.closed.clear()
    played = await play(environment(environment=SAFE, arguments={"seed": 3}), *(message(guess(n)) for n in range(1, 9)))
    secret = aviary_games.Safe(seed=3).secret
    system, first = played.episode.threads["policy"].messages[:2]
    assert (system.content, first.content) == ("You open safes.", "Open it.")
    assert list(played.episode.tools) == ["guess", "look"]
    number = played.episode.tools["guess"].schema.parameters["properties"]["number"]
    assert (number["type"], number["description"]) == ("integer", "From 1 to 8.")
    assert results(played)[0] == "too low\n4 guesses are left." and results(played)[-1].startswith("click")
    assert len(results(played)) == secret
    assert played.episode.stop is not None and played.episode.stop.text == "done"
    assert aviary_games.closed == ["safe"]


async def test_all_calls_of_a_message_are_one_step() -> None:
    played = await play(
        environment(environment="aviary_games:basket", arguments={"fruit": "pears"}),
        message(PUT, ("put", '{"thing": '), ("nothing", {}), PUT, text="two at once"),
        "Well.",
    )
    told = results(played)
    assert (told[0], told[3]) == ("1 inside", "2 inside") and played.episode.state.environment.state.inside == [
        "a pear"
    ] * 2
    assert "bad arguments for put: Invalid JSON" in told[1] and "there is no tool 'nothing'" in told[2]
    assert told[4].startswith("No tool calls received.")
    assert reward_of(played) == 0.5  # of the one step; words are worth nothing


async def test_parameters_may_have_the_names_of_the_librarys_own() -> None:
    find = ("find", {"id": "7", "function_name": "f", "cls": "c"})
    played = await play(environment(environment="aviary_games:basket", arguments={"fruit": "pears"}), message(find))
    assert results(played)[0] == "7 f c" and played.failure is None


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("guess", '{"number": ', "bad arguments for guess: Invalid JSON"),
        ("guess", "{}", "bad arguments for guess: 'number' is a required property"),
        ("guess", '{"number": "3"}', "bad arguments for guess: number: '3' is not of type 'integer'"),
        ("guess", "[3]", "bad arguments for guess: [3] is not of type 'object'"),
        ("guess", '{"number": 9}', "ValueError: the dial has no such number"),
        ("guess", '{"number": 3, "twice": true}', "TypeError"),
        ("open", "{}", "there is no tool 'open'; the tools are: guess, look"),
        ("", "{}", "this call can't be read: "),
    ],
)
async def test_malformed_calls_become_observations(name: str, arguments: str, told: str) -> None:
    played = await play(environment(environment=SAFE, arguments={"seed": 3}), message((name, arguments)))
    (result,) = [event for event in played.episode.events if event.kind == "tool_result"]
    assert result.error is not None and told in result.error
    assert reward_of(played) == 0 and played.episode.state.environment.state == {"guesses": 0}


async def test_a_mistake_in_a_functional_environment_is_told_by_the_library() -> None:
    game = environment(environment="aviary_games:basket", arguments={"fruit": "pears"})
    played = await play(game, message(("divide", {"by": 0})))
    assert "Encountered exception during tool call" in results(played)[0]


async def test_what_breaks_in_the_library_is_the_environments_failure() -> None:
    aviary_games.closed.clear()
    played = await play(environment(environment=SAFE, arguments={"fails_at": 0}), message(guess(1)))
    assert played.failure is not None and played.failure.kind is FailureKind.ENVIRONMENT
    assert (played.failure.where, played.failure.message) == (
        "tool guess (aviary_games.py:42)",
        "OSError: the safe is gone",
    )
    assert aviary_games.closed == ["safe"]


async def test_datasets_give_the_environment_at_the_tasks_index() -> None:
    game = environment(environment="aviary_games:Safes")
    seeds = []
    for index in (0, 1):
        task = generated(game, index)
        played = await play(game, message(("look", {})), task=task)
        seeds.append((played.episode.state.environment.secret, played.episode.state.environment.guesses))
    assert seeds == [(aviary_games.Safe(1).secret, 5), (aviary_games.Safe(2).secret, 2)]
    failure = (await play(game, "?", task=AviaryTask(index=2))).failure
    assert failure is not None and (failure.kind, failure.where) == (FailureKind.DATA, "task.index")
    assert reward_of(await play(environment(environment="aviary.core:DummyTaskDataset"), message(STORY))) == 1


async def test_the_seed_is_the_tasks() -> None:
    game = environment(environment=SAFE, seed_argument="seed")
    tasks = [generated(game, index) for index in range(1000)]
    assert len({task.model_dump_json() for task in tasks}) >= 990
    assert tasks == [generated(game, index) for index in range(1000)]
    for task in tasks[:8]:
        played = await play(game, message(("look", {})), task=task)
        assert played.episode.state.environment.secret == aviary_games.Safe(task.seed).secret


async def test_a_session_shares_nothing_with_the_next() -> None:
    game = environment(environment="aviary_games:basket", arguments={"fruit": "pears"})
    assert [results(await play(game, message(PUT))) for _ in range(2)] == [["1 inside"]] * 2


async def test_pictures_are_no_observations() -> None:
    failure = (await play(environment(environment="aviary_games:Pictures"), "?")).failure
    assert failure is not None and "more than text" in failure.message


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("dumy", "is not of the form package.module:Class, and the library knows: calculator, dummy, gsm8k, hotpotqa"),
        ("calculator", "environment.environment: can't import aviary.envs.gsm8k"),
        ("aviary_games:Saf", "aviary_games has no 'Saf'; did you mean 'Safe'?"),
        ("aviary_games:NO_MAKER", "makes no environment: it is a int"),
        ("aviary_games:no_environment", "it is not annotated to return an Environment or a TaskDataset"),
        ("aviary_games:unannotated", "it is not annotated to return an Environment or a TaskDataset"),
        ("os:system", "os:system makes no environment: "),
        ("builtins:dict", "it is a class, but of neither an Environment nor a TaskDataset"),
    ],
)
def test_environments_that_there_are_not_are_wrong_input(name: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        environment(environment=name)
    assert told in str(caught.value)


async def test_what_is_made_must_be_an_environment() -> None:
    failure = (await play(environment(environment="aviary_games:breaks_its_word"), "?")).failure
    assert failure is not None and "made a int, which is no environment of aviary" in failure.message


async def test_a_function_may_make_it() -> None:
    game = environment(environment="aviary_games:safe_of", arguments={"secret": 6})
    assert reward_of(await play(game, message(guess(6)))) == 1


def test_arguments_are_checked_before_a_run() -> None:
    with pytest.raises(ValueError, match="arguments: aviary_games:Safe: got an unexpected keyword argument 'doors'"):
        generated(environment(environment=SAFE, arguments={"doors": 2}), 0)
    with pytest.raises(ValueError, match="missing a required argument: 'fruit'"):
        environment(environment="aviary_games:basket").check(AviaryTask())
    environment(environment="aviary_games:basket").check(AviaryTask(arguments={"fruit": "figs"}))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ('{"index": -1}', "greater than or equal to 0"),
        ('{"seed": "x"}', "valid integer"),
        ('{"argument": {}}', "Extra inputs"),
        ('{"arguments": []}', "should be an object"),
    ],
)
def test_rows_that_break_the_schema_are_refused(row: str, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        AviaryTask.model_validate_json(row)


async def test_example_rows_are_played() -> None:
    rows = (REPOSITORY / "envs/aviary/example.jsonl").read_text().splitlines()
    assert len(rows) == 5
    game = environment(environment="dummy")
    for row in rows:
        task = AviaryTask.model_validate_json(row)
        game.check(task)
        assert reward_of(await play(game, message(STORY), task=task)) == 1


@pytest.mark.environments
def test_the_command_of_the_readme_passes() -> None:
    readme = (REPOSITORY / "envs/aviary/README.md").read_text()
    (command,) = [line for line in readme.splitlines() if "ray-gym check-env" in line]
    path, _, *words = shlex.split(command)
    variables = os.environ | dict([path.split("=")])
    ended = subprocess.run(
        [sys.executable, "-m", "ray_gym", *words, "--tasks", "3"],
        cwd=REPOSITORY,
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0 and "ok determinism" in ended.stdout, ended


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aviary.core", None)
    with pytest.raises(UserError, match=r"install 'ray-gym\[adapters\]'"):
        environment(environment="dummy")
