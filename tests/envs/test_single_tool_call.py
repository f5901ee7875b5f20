"""One tool call and an answer: what counts as the call, and what as the answer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playing_tasks import call_of, generated, play_task, reward_of, says
from pydantic import ValidationError

from ray_gym import Message, ToolCall
from ray_gym.config.sections import TasksSection
from ray_gym.data.tasks import read_tasks
from ray_gym.envs.single_tool_call import SingleToolCall
from ray_gym.envs.single_tool_call import weather as weather_module
from ray_gym.envs.single_tool_call.environment import WeatherTask
from ray_gym.envs.single_tool_call.weather import Weather
from ray_gym.play.play import Played

EXAMPLES = Path(__file__).parents[2] / "envs" / "single_tool_call" / "example.jsonl"
WEATHER = {
    "Lisbon": {"temperature": 24, "condition": "sunny"},
    "Oslo": {"temperature": -7, "condition": "light snow"},
    "Quito": {"temperature": 15, "condition": "foggy"},
}


def task_of(**changed: Any) -> WeatherTask:
    fields = {"question": "How warm is it?", "city": "Lisbon", "asked": "temperature", "weather": WEATHER, **changed}
    return WeatherTask.model_validate(fields)


def look(city: str) -> Message:
    return call_of("get_weather", json.dumps({"city": city}))


def parts_of(played: Played) -> tuple[float, float, float]:
    assert played.score is not None
    return reward_of(played), played.score.parts["right_city"], played.score.parts["answered"]


async def play_with(*said: str | Message, task: WeatherTask | None = None) -> Played:
    return await play_task(SingleToolCall(), task or task_of(), {"policy": says(*said)}, limits={"max_turns": 1})


async def test_the_perfect_player_is_right_on_every_generated_task() -> None:
    environment = SingleToolCall()
    asked = set()
    for index in range(200):
        task = generated(environment, index)
        played = await play_task(environment, task)
        assert parts_of(played) == (1, 1, 1) and played.episode.usage.tool_calls == 1
        assert task.city in task.question
        asked.add(task.asked)
    assert asked == {"temperature", "condition"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ((look("Lisbon"), "It is 24 degrees."), (1, 1, 1)),
        ((look(" lisbon "), "24°C"), (1, 1, 1)),
        ((look("Oslo"), look("Lisbon"), "24.0"), (1, 1, 1)),
        ((look("Atlantis"), look("Lisbon"), "24."), (1, 1, 1)),
        ((look("Lisbon"), look("Quito"), "24. I say it again: 24."), (1, 1, 1)),
        ((look("Lisbon"), "It is sunny, at 24 degrees, and not cold."), (0, 1, 0)),
        ((look("Lisbon"), look("Quito"), "In Lisbon 24, in Quito 15."), (0, 1, 0)),
        ((look("Lisbon"), look("Quito"), look("Oslo"), "24, 15, -7, sunny, foggy, light snow"), (0, 1, 0)),
        ((look("Lisbon"), "It isn't 24."), (0, 1, 0)),
        (("It is 24 degrees.",), (0, 0, 1)),
        ((look("Oslo"), "24"), (0, 0, 1)),
        ((look("Atlantis"), "24"), (0, 0, 1)),
        ((call_of("get_weather", '{"town": "Lisbon"}'), "24"), (0, 0, 1)),
        ((call_of("get_weather", '{"city": "Lisbon"'), "24"), (0, 0, 1)),
        ((call_of("get_wether", '{"city": "Lisbon"}'), "24"), (0, 0, 1)),
        ((look("Lisbon"), "It is 240, or 124, or 2.4, or -24, or 24.5."), (0, 1, 0)),
        ((look("Lisbon"), "It is sunny."), (0, 1, 0)),
        ((look("Lisbon"), ""), (0, 1, 0)),
        ((look("Oslo"), "-7"), (0, 0, 0)),
    ],
)
async def test_the_call_and_the_answer_both_have_to_be_right(
    said: tuple[str | Message, ...], expected: tuple[float, float, float]
) -> None:
    assert parts_of(await play_with(*said)) == expected


@pytest.mark.parametrize("asked", ["temperature", "condition"])
async def test_saying_everything_is_no_answer(asked: str) -> None:
    """The policy looks up every city and says all their values, the right one among them, and gets no reward."""
    environment = SingleToolCall()
    tasks = [task for task in (generated(environment, index) for index in range(40)) if task.asked == asked]
    for task in tasks:
        said = ", ".join(str(getattr(weather, asked)) for weather in task.weather.values())
        played = await play_task(environment, task, {"policy": says(*map(look, task.weather), said)})
        assert parts_of(played) == (0, 1, 0)


async def test_words_beside_a_call_are_no_answer() -> None:
    call = ToolCall("call", "get_weather", '{"city": "Lisbon"}')
    played = await play_task(
        SingleToolCall(),
        task_of(),
        {"policy": says(Message("assistant", "It is 24.", tool_calls=(call,)))},
        limits={"max_turns": 1, "max_steps_per_turn": 1},
    )
    assert parts_of(played) == (0, 1, 0)


async def test_what_a_city_without_a_report_is_answered_with() -> None:
    played = await play_with(look("Atlantis"), "I don't know.")
    (result,) = [event for event in played.episode.events if event.kind == "tool_result"]
    assert result.error == "there is no report from 'Atlantis'; check the city's name"


@pytest.mark.parametrize(
    ("answer", "temperature", "expected"),
    [
        ("-7", -7, True),
        ("minus 7 degrees", -7, True),
        ("\u22127 °C", -7, True),
        ("It's 7 below zero", -7, False),
        ("-7", 7, False),
        ("between 5-7 degrees", 7, False),
        ("7, or 8", 7, False),
        ("7 in the morning, minus 7 at night", 7, False),
        ("It is not 7.", 7, False),
        ("1,007", 1, False),
        ("1.000.7", 7, False),
        ("7. Really: 7.0!", 7, True),
        ("**7**", 7, True),
        ("17", 7, False),
        ("7.5", 7, False),
        ("1,007", 7, False),
        ("7C", 7, True),
        ("no number", 7, False),
    ],
)
def test_temperatures_are_read(answer: str, temperature: int, expected: bool) -> None:
    weather = Weather(temperature=temperature, condition="sunny")
    assert weather_module.says(answer, weather, "temperature") is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("LIGHT  snow!", True),
        ("There is light\nsnow.", True),
        ("light snowfall", False),
        ("slight snow", False),
        ("snow", False),
        ("-7", False),
        ("Light snow at -7", True),
        ("light snow, LIGHT SNOW", True),
        ("light snow or rainy", False),
        ("Sunny, cloudy, foggy, windy, rainy, light snow", False),
        ("light snow, hail", False),
        ("It is not light snow.", False),
        ("There isn't light snow", False),
        ("There isn\u2019t light snow", False),
        ("It never has light snow", False),
        ("Light snow in Notting Hill", True),
    ],
)
def test_conditions_are_words_of_their_own(answer: str, expected: bool) -> None:
    weather = Weather(temperature=0, condition="light snow")
    assert weather_module.says(answer, weather, "condition", ["snow", "hail"]) is expected


def begun(city: str, answer: str) -> list[dict[str, Any]]:
    """Returns a conversation in which the weather was looked up."""
    call = {"id": "a", "name": "get_weather", "arguments": json.dumps({"city": city})}
    return [
        {"role": "user", "content": "How warm is it in Lisbon?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": answer},
    ]


@pytest.mark.parametrize(
    ("city", "answer", "expected"),
    [
        (" lisbon", '{"temperature": 24, "condition": "sunny"}', (1, 1, 1)),
        ("Oslo", '{"temperature": -7, "condition": "light snow"}', (0, 0, 1)),
        ("Lisbon", '{"error": "the service is down"}', (0, 0, 1)),
        ("Lisbon", "It is nice there.", (0, 0, 1)),
    ],
)
async def test_what_was_looked_up_earlier_is_looked_up(city: str, answer: str, expected: tuple[float, ...]) -> None:
    task = task_of(question=None, messages=begun(city, answer))
    assert parts_of(await play_with("24 degrees", task=task)) == expected
    assert parts_of(await play_task(SingleToolCall(), task)) == (1, 1, 1), "by the perfect player"


async def test_where_only_a_conversation_is_given_its_reports_are_the_weather() -> None:
    report = '{"temperature": 24, "condition": "quite unlike any other"}'
    task = WeatherTask.model_validate({"messages": begun("Atlantis", report)})
    assert task.is_free
    played = await play_with(look("atlantis"), "Quite unlike any other.", task=task)
    assert parts_of(played) == (1, 1, 1)
    (result,) = [event.content for event in played.episode.events if event.kind == "tool_result"]
    assert json.loads(result) == json.loads(report)
    assert parts_of(await play_with("24", task=task)) == (1, 1, 1)


async def test_the_example_rows_are_played() -> None:
    rows = read_tasks(TasksSection(path=str(EXAMPLES)), SingleToolCall(), 0, Path())
    assert [row.task_id for row in rows] == [f"single_tool_call-{index}" for index in range(5)]
    for row in rows:
        played = await play_task(SingleToolCall(), WeatherTask.model_validate_json(row.task))
        assert parts_of(played) == (1, 1, 1)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"city": "Rome"}, "city: there is no weather for 'Rome'; known: Lisbon, Oslo, Quito"),
        ({"weather": {}}, "known: none"),
        ({"weather": {**WEATHER, "lisbon": WEATHER["Oslo"]}}, "weather: a city is there twice"),
        ({"weather": {"Lisbon": {"temperature": 3}}}, "Field required"),
        ({"weather": {"Lisbon": {"temperature": 3, "condition": ""}}}, "at least 1 character"),
        ({"asked": "wind"}, "'temperature' or 'condition'"),
        ({"question": ""}, "at least 1 character"),
        ({"question": " "}, "it is blank"),
        (
            {"messages": begun("Lisbon", '{"temperature": 23, "condition": "sunny"}')},
            "weather: not what messages say of Lisbon: temperature=23 condition='sunny'",
        ),
        (
            {"messages": begun("Rome", '{"temperature": 23, "condition": "sunny"}')},
            "weather: not what messages say of Rome",
        ),
        (
            {
                "messages": begun("Rome", '{"temperature": 23, "condition": "sunny"}')
                + begun("ROME", '{"temperature": 22, "condition": "sunny"}')
            },
            "messages[5]: Rome had other weather before",
        ),
    ],
)
def test_bad_rows_are_refused(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        task_of(**changed)


def test_generated_tasks_differ_and_are_the_seeds() -> None:
    environment = SingleToolCall()
    tasks = [generated(environment, index) for index in range(1000)]
    assert len({task.model_dump_json() for task in tasks}) >= 990
    assert tasks[:50] == [generated(environment, index) for index in range(50)]
    assert tasks[:50] != [generated(environment, index, seed=1) for index in range(50)]
    for task in tasks:
        for others in ("temperature", "condition"):
            assert len({getattr(weather, others) for weather in task.weather.values()}) == len(task.weather)
