"""A counter of the session's own, also one that earlier turns have changed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playing_tasks import call_of, generated, play_task, reward_of, says
from pydantic import ValidationError

from ray_gym import Message, ToolCall
from ray_gym.config.file import read_config
from ray_gym.config.sections import TasksSection
from ray_gym.data.tasks import read_tasks
from ray_gym.envs.session_counter import SessionCounter
from ray_gym.envs.session_counter.environment import CounterTask
from ray_gym.models.base import CompletionRequest
from ray_gym.play.play import Played

EXAMPLES = Path(__file__).parents[2] / "envs" / "session_counter" / "example.jsonl"
CONFIG = Path(__file__).parents[2] / "configs" / "session_counter.yaml"
READ = call_of("get_counter_value", "{}")


def add(count: int, call_id: str = "call") -> Message:
    return call_of("increment_counter", json.dumps({"count": count}), call_id)


def chat(*turns: tuple[str, Any]) -> list[dict[str, Any]]:
    """Turns of ("user" | "assistant", text), ("call", (id, name, arguments)) and ("result", (id, what))."""
    messages: list[dict[str, Any]] = []
    for kind, what in turns:
        if kind == "call":
            call_id, name, arguments = what
            call = {"id": call_id, "name": name, "arguments": arguments}
            messages.append({"role": "assistant", "tool_calls": [call]})
        elif kind == "result":
            messages.append({"role": "tool", "tool_call_id": what[0], "content": json.dumps(what[1])})
        else:
            messages.append({"role": kind, "content": what})
    return messages


EARLIER = chat(
    ("user", "Add 4, then read the counter."),
    ("call", ("a", "increment_counter", '{"count": 4}')),
    ("result", ("a", {"success": True})),
    ("call", ("b", "increment_counter", '{"count": "4"}')),
    ("result", ("b", {"error": "bad arguments"})),
    ("call", ("a", "get_counter_value", "{}")),
    ("result", ("a", {"count": 9})),
    ("assistant", "It is 9."),
    ("user", "Now add 6 more."),
)


def value_of(played: Played) -> int:
    count: int = played.episode.state.count
    return count


async def test_the_perfect_player_is_right_on_every_generated_task() -> None:
    environment = SessionCounter()
    continued = 0
    for index in range(200):
        task = generated(environment, index)
        played = await play_task(environment, task)
        assert reward_of(played) == 1 and value_of(played) == task.expected_count
        assert task.count() != task.expected_count, "something is to be done"
        continued += bool(task.messages)
    assert 20 < continued < 80


@pytest.mark.parametrize(
    ("said", "count", "reward"),
    [
        ((add(7), "Done."), 10, 1),
        ((add(3), add(4), "Done."), 10, 1),
        ((add(9), add(-2), "Done."), 10, 1),
        ((READ, add(7), READ, "It is 10."), 10, 1),
        ((add(6), "Done: it is 10."), 9, 0),
        ((add(7), add(7), "Done."), 17, 0),
        ((add(10), "Done."), 13, 0),
        (("The counter is at 10 now.",), 3, 0),
        ((READ, "It was 3, so it is 10."), 3, 0),
        ((call_of("increment_counter", '{"count": "7"}'), "Done."), 3, 0),
        ((call_of("increment_counter", '{"count": 7.0}'), "Done."), 3, 0),
        ((call_of("increment_counter", '{"count": true}'), "Done."), 3, 0),
        ((call_of("increment_counter", '{"amount": 7}'), "Done."), 3, 0),
        ((call_of("increment_counter", '{"count": 7'), "Done."), 3, 0),
        ((call_of("increment_counter", '{"count": 1000001}'), "Done."), 3, 0),
        ((call_of("set_counter", '{"count": 10}'), "Done."), 3, 0),
    ],
)
async def test_the_final_value_is_the_score(said: tuple[str | Message, ...], count: int, reward: float) -> None:
    task = CounterTask(initial_count=3, expected_count=10, request="Add 7 to the counter.")
    played = await play_task(SessionCounter(), task, {"policy": says(*said)}, limits={"max_turns": 1})
    assert (value_of(played), reward_of(played)) == (count, reward)
    (verdict,) = [event.content for event in played.episode.events if event.kind == "verdict"]
    assert verdict == ("FinalState: as expected" if reward else f"FinalState: count is {count}, expected 10")


async def test_the_config_leaves_room_for_plain_calls_and_for_the_end() -> None:
    config = read_config(CONFIG)
    assert config.participants["policy"].tool_choice == "auto", "the prompt asks for words at the end"
    task = CounterTask(initial_count=1, expected_count=29, request="Add 7 to the counter four times.")
    said = (add(7), add(7), add(7), add(7), READ, "Done.")
    played = await play_task(SessionCounter(), task, {"policy": says(*said)}, limits=config.limits.model_dump())
    assert reward_of(played) == 1 and played.episode.answer == "Done."


async def test_several_calls_in_one_message_and_none_after_the_steps() -> None:
    task = CounterTask(initial_count=0, expected_count=6, request="Add 1, 2 and 3.")
    calls = tuple(ToolCall(f"c{number}", "increment_counter", f'{{"count": {number}}}') for number in (1, 2, 3))
    at_once = await play_task(SessionCounter(), task, {"policy": says(Message("assistant", tool_calls=calls), "Done.")})
    assert reward_of(at_once) == 1
    endless = await play_task(
        SessionCounter(), task, {"policy": says(add(1))}, limits={"max_turns": 1, "max_steps_per_turn": 4}
    )
    assert (value_of(endless), reward_of(endless)) == (4, 0)


async def test_a_conversation_that_was_begun_is_resumed() -> None:
    task = CounterTask.model_validate({"initial_count": 5, "expected_count": 15, "messages": EARLIER})
    seen: list[list[Message]] = []

    def player(request: CompletionRequest, rng: Any) -> Message:
        seen.append(list(request.messages))
        return add(6) if len(seen) == 1 else Message("assistant", "Done.")

    played = await play_task(SessionCounter(), task, {"policy": player})
    assert reward_of(played) == 1 and value_of(played) == 15
    first = [(message.role, message.content) for message in seen[0]]
    assert first[0][0] == "system" and "counter" in first[0][1]
    assert first[1] == ("user", "Add 4, then read the counter.") and first[-1] == ("user", "Now add 6 more.")
    roles = ["user", "assistant", "tool", "assistant", "tool", "assistant", "tool", "assistant", "user"]
    assert [role for role, _ in first[1:]] == roles
    assert seen[0][2].tool_calls == (ToolCall("a", "increment_counter", '{"count": 4}'),)
    assert seen[0][3].tool_call_id == "a"
    usage = played.episode.usage
    assert (usage.tool_calls, usage.model_calls) == (1, 2), "earlier calls are not made again"
    assert [event.kind for event in played.episode.events[:10]] == ["system"] + ["opening"] * 9
    idle = await play_task(SessionCounter(), task, {"policy": says("It is at 15 already.")})
    assert (value_of(idle), reward_of(idle)) == (9, 0)


async def test_a_turn_that_was_broken_off_is_resumed() -> None:
    begun = EARLIER[:3]
    task = CounterTask.model_validate({"initial_count": 5, "expected_count": 9, "messages": begun})
    played = await play_task(SessionCounter(), task, {"policy": says(READ, "It is 9.")})
    assert reward_of(played) == 1 and played.episode.turns[0].speaker == "policy"
    (result,) = [event.content for event in played.episode.events if event.kind == "tool_result"]
    assert json.loads(result) == {"count": 9}


async def test_sessions_have_counters_of_their_own() -> None:
    environment = SessionCounter()
    task = CounterTask(initial_count=1, expected_count=2, request="Add 1.")
    for seed in range(3):
        played = await play_task(environment, task, {"policy": says(add(1), "Done.")}, seed=seed)
        assert value_of(played) == 2


async def test_the_example_rows_are_played() -> None:
    rows = read_tasks(TasksSection(path=str(EXAMPLES)), SessionCounter(), 0, Path())
    assert [row.task_id for row in rows] == [f"session_counter-{index}" for index in range(5)]
    tasks = [CounterTask.model_validate_json(row.task) for row in rows]
    assert [task.count() for task in tasks] == [3, 0, 25, 9, 13], "two of them go on from earlier turns"
    for task in tasks:
        assert reward_of(await play_task(SessionCounter(), task)) == 1


CALLED = [("user", "Add 4."), ("call", ("a", "increment_counter", '{"count": 4}'))]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"expected_count": 3}, "set one of request (what the user asks) and messages"),
        ({"expected_count": 3, "request": "Add 3.", "messages": EARLIER}, "set one of request"),
        ({"request": "Add 3."}, "Field required"),
        ({"request": "Add 3.", "expected_count": "three"}, "valid integer"),
        ({"request": "", "expected_count": 3}, "at least 1 character"),
        ({"request": "\n", "expected_count": 3}, "it is blank"),
        (
            {"initial_count": 6, "expected_count": 3, "messages": EARLIER},
            "messages[6]: the counter is 9 here, but the calls before lead to 10",
        ),
        (
            {
                "expected_count": 4,
                "messages": chat(
                    ("user", "Add 4."),
                    ("call", ("a", "increment_counter", '{"count": "4"}')),
                    ("result", ("a", {"success": True})),
                ),
            },
            """call 'a' was carried out, but has no whole number as its count: {"count": "4"}""",
        ),
        ({"expected_count": 4, "messages": chat(*CALLED)}, "the last call, 'a', has no result"),
        ({"expected_count": 4, "messages": chat(("result", ("a", {})))}, "it answers call 'a', which is not open"),
    ],
)
def test_bad_rows_are_refused(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        CounterTask.model_validate(row)


def test_generated_tasks_differ_and_are_the_seeds() -> None:
    environment = SessionCounter()
    tasks = [generated(environment, index) for index in range(1000)]
    assert len({task.model_dump_json() for task in tasks}) >= 990
    assert tasks[:50] == [generated(environment, index) for index in range(50)]
    assert tasks[:50] != [generated(environment, index, seed=1) for index in range(50)]


def expected_by_words(request: str, count: int) -> int:
    numbers = [int(number) for number in re.findall(r"\d+", request)]
    for word, times in [("twice", 2), ("three times", 3), ("four times", 4)]:
        if word in request:
            return count + numbers[0] * times
    if request.startswith("Take"):
        return count - numbers[0]
    if request.startswith("Bring"):
        return numbers[0]
    return count * (2 if request.startswith("Double") else 1) + sum(numbers)


def test_what_is_expected_is_what_was_asked_for() -> None:
    begun = set()
    for index in range(500):
        task = generated(SessionCounter(), index, seed=2)
        asked = task.request or task.messages[-1].content
        assert expected_by_words(asked, task.count()) == task.expected_count, asked
        begun.add(asked.split()[0])
    assert begun == {"Add", "Take", "Bring", "Double"}
