"""Rows in the shape of NeMo Gym's data sets: read as they are, prepared, and played by those who know the answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from playing_tasks import call_of, play_task, reward_of, says

from ray_gym import Environment
from ray_gym.config.sections import TasksSection
from ray_gym.data.checking import BadRow, names_of, task_of
from ray_gym.data.lengths import character_ruler
from ray_gym.data.nemo_gym import task_fields
from ray_gym.data.prepared import Settings, files_of, prepare
from ray_gym.data.rows import FileRow
from ray_gym.data.tasks import read_tasks
from ray_gym.plugins import find_environment


def asked(*texts: str, **settings: Any) -> dict[str, Any]:
    roles = ["developer", *["user", "assistant"] * len(texts)]
    messages = [{"role": role, "content": text} for role, text in zip(roles, ("Be brief.", *texts), strict=False)]
    return {"input": messages, "tools": [{"type": "function", "name": "x"}], "temperature": 1.0, **settings}


CHOICE = {
    "responses_create_params": asked("Which planet is red?\nA: Mars\nB: Venus"),
    "options": [{"A": "Mars"}, {"B": "Venus"}],
    "expected_answer": "A",
    "grading_mode": "strict_single_letter_boxed",
    "uuid": "0f",
    "agent_ref": {"type": "agents", "name": "quiz"},
}
SCHEDULE = {
    "responses_create_params": asked(
        "Add a walk of 30 minutes (event id: 0).",
        '[{"event_id": 0, "event_name": "Walk", "start_time": "10:00", "duration": 30}]',
        "And lunch, 45 minutes from 12 on (event id: 1). The walk is to be over by 11.",
    ),
    "exp_cal_state": {
        "0": {"event_id": 0, "duration": 30, "constraint": "before 11am", "min_time": "10:00", "max_time": "16:00"},
        "1": {"event_id": 1, "duration": 45, "constraint": "after 12pm", "min_time": "10:00", "max_time": "16:00"},
    },
}
SYNONYMS = {
    "id": 7,
    "responses_create_params": asked("Who swims in the cold sea?", parallel_tool_calls=False),
    "expected_synonyms": ["ab", "b"],
    "expected_synonym_values": [195, 98],
    "minefield_label": "a",
    "minefield_label_value": 97,
}
COUNTER = {"responses_create_params": asked("add 2, then 5"), "initial_count": 3, "expected_count": 10}
WEATHER = {"responses_create_params": asked("do I need a coat in oslo?")}
PROBLEM = {"responses_create_params": asked("What is 2 + 2?"), "question": "What is 2 + 2?", "expected_answer": "4"}

COUNTERPARTS: dict[str, dict[str, Any]] = {
    "mcqa": CHOICE,
    "calendar": SCHEDULE,
    "multi_step": SYNONYMS,
    "session_counter": COUNTER,
    "single_tool_call": WEATHER,
    "math": PROBLEM,
    "equivalence_judge": PROBLEM,
}


def environment_of(name: str) -> Environment[Any, Any]:
    return find_environment(name)()


def read(name: str, row: dict[str, Any]) -> Any:
    return task_of(FileRow("row", 1, row), environment_of(name))


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_rows_of_counterparts_are_prepared_and_played(name: str, tmp_path: Path) -> None:
    """The prepared task is the row's own: a right answer gets the full reward, and a wrong one gets none."""
    environment = environment_of(name)
    (tmp_path / "theirs.jsonl").write_text(json.dumps(COUNTERPARTS[name]) + "\n")
    prepared = prepare([tmp_path / "theirs.jsonl"], environment, Settings(name, {}, 0, 0), character_ruler())
    assert prepared.bad == 0, prepared.reports[0].bad
    (tmp_path / "train.parquet").write_bytes(files_of(prepared)["train.parquet"])
    from_lines, from_parquet = (
        read_tasks(TasksSection(path=str(tmp_path / file)), environment, 0, Path())
        for file in ("theirs.jsonl", "train.parquet")
    )
    assert [row.task_id for row in from_lines] == [row.task_id for row in from_parquet]
    task = environment.task_type.model_validate_json(from_parquet[0].task)
    read_directly = environment.task_type.model_validate_json(from_lines[0].task)
    assert task.model_copy(update={"task_id": None}) == read_directly
    assert task.messages[0].content == "Be brief." and task.messages[-1].role == "user"
    if name != "math":  # whose library is tested where it is
        assert reward_of(asyncio.run(play_task(environment, task))) == 1
        assert reward_of(asyncio.run(play_task(environment, task, {"policy": says("No idea.")}))) == 0


def test_the_conversation_is_what_the_policy_sees() -> None:
    played = asyncio.run(play_task(environment_of("mcqa"), read("mcqa", CHOICE)))
    seen = [(message.role, message.content) for message in played.episode.threads["policy"].messages[:2]]
    assert seen == [("system", "Be brief."), ("user", "Which planet is red?\nA: Mars\nB: Venus")]


def test_a_text_is_one_message_and_instructions_are_its_system_prompt() -> None:
    row = {**COUNTER, "responses_create_params": {"input": "add 7", "instructions": "Count."}}
    assert [(one.role, one.content) for one in read("session_counter", row).messages] == [
        ("system", "Count."),
        ("user", "add 7"),
    ]


def test_calls_that_were_made_earlier_are_in_the_conversation() -> None:
    items = [
        {"role": "user", "content": "add 4"},
        {"type": "function_call", "call_id": "c", "name": "increment_counter", "arguments": '{"count": 4}'},
        {"type": "function_call_output", "call_id": "c", "output": '{"success": true}'},
        {"role": "user", "content": "add 3"},
    ]
    task = read("session_counter", {**COUNTER, "responses_create_params": {"input": items}})
    assert task.count() == 7


def test_what_an_environment_has_a_field_for_is_no_bookkeeping() -> None:
    row = {"responses_create_params": {"input": "?"}, "id": 1, "_ng_task_index": 2, "category": "c", "more": 3}
    assert set(task_fields(row, frozenset())) == {"messages", "more"}
    assert set(task_fields(row, frozenset({"category"}))) == {"messages", "more", "category"}
    assert {"grading", "grading_mode", "options"} <= names_of(environment_of("mcqa").task_type)


@pytest.mark.parametrize(
    ("name", "changed", "told"),
    [
        ("mcqa", {"responses_create_params": []}, "responses_create_params: Input should be an object (found [])"),
        ("mcqa", {"responses_create_params": {}}, "responses_create_params.input: missing"),
        ("mcqa", {"responses_create_params": {"input": []}}, "(top level): question: missing, and there are no messages"),
        ("mcqa", {"responses_create_params": {"input": "?", "previous_response_id": "r"}}, "responses_create_params.previous"),
        ("mcqa", {"responses_create_params": {"input": [{"type": "reasoning_x"}]}}, "messages: messages[0]: "),
        ("mcqa", {"messages": []}, "messages: the conversation is in responses_create_params.input already"),
        ("mcqa", {"grading_mode": "guess"}, "grading_mode: Input should be 'strict_boxed', 'lenient_boxed'"),
        ("mcqa", {"reward_weight": 2}, "reward_weight: unknown key; "),
        ("multi_step", {"expected_synonym_values": [98, 195]}, "(top level): expected_synonym_values: [98, 195] is not what"),
        ("multi_step", {"minefield_label_value": 1}, "(top level): minefield_label_value: 1 is not what minefield_label have: 97"),
        ("multi_step", {"expected_synonyms": None}, "(top level): expected_synonym_values: [195, 98] is not what"),
        ("calendar", {"exp_cal_state": {"0": {"event_id": 0}}}, "exp_cal_state.0.duration: missing"),
        ("single_tool_call", {"asked": "condition"}, "(top level): city: missing"),
        ("single_tool_call", {"responses_create_params": {"input": []}}, "(top level): question: missing"),
        ("workplace_assistant", {"ground_truth": []}, "request: missing"),
    ],
)  # fmt: skip
def test_bad_rows_are_told_by_their_field(name: str, changed: dict[str, Any], told: str) -> None:
    with pytest.raises(BadRow) as caught:
        read(name, {**COUNTERPARTS.get(name, WEATHER), **changed})
    assert caught.value.problems[0].startswith(told)


def entry(event_id: int, start: str, duration: int, name: str = "Whatever") -> dict[str, Any]:
    return {"event_id": event_id, "event_name": name, "start_time": start, "duration": duration}


WALK, LUNCH = entry(0, "10:30", 30), entry(1, "12:00", 45)


@pytest.mark.parametrize(
    ("calendar", "reward"),
    [
        ([WALK, LUNCH], 1),
        ([entry(0, "10:30", 30, "Walk"), entry(1, "12:00", 45, "Lunch")], 1),
        ([entry(1, "10:30", 30), entry(0, "12:00", 45)], 0),
        ([entry(0, "10:45", 30), LUNCH], 0),
        ([entry(0, "10:30", 45), LUNCH], 0),
        ([WALK], 0),
        ([WALK, WALK, LUNCH], 0),
        ([WALK, LUNCH, entry(2, "14:00", 15)], 0),
        ([], 0),
    ],
)
def test_events_without_names_are_known_by_their_ids(calendar: list[dict[str, Any]], reward: int) -> None:
    task = read("calendar", SCHEDULE)
    player = {"policy": says(f"Your calendar: {json.dumps(calendar)}")}
    assert reward_of(asyncio.run(play_task(environment_of("calendar"), task, player))) == reward


def test_weather_that_nobody_wrote_down_is_the_same_whenever_it_is_asked_for() -> None:
    environment, task = environment_of("single_tool_call"), read("single_tool_call", WEATHER)
    calls = [
        call_of("get_weather", json.dumps({"city": city}), f"c{n}") for n, city in enumerate(["Oslo", " oslo ", " "])
    ]
    played = asyncio.run(play_task(environment, task, {"policy": says(*calls, "It is cold.")}))
    first, again, nowhere = (m.content for m in played.episode.threads["policy"].messages if m.role == "tool")
    assert first == again and "no report from" in nowhere
    report = json.loads(first)
    right = f"It is {report['condition']} there."
    assert reward_of(asyncio.run(play_task(environment, task, {"policy": says(calls[0], right)}))) == 1
    assert reward_of(asyncio.run(play_task(environment, task, {"policy": says(right)}))) == 0, "it was not looked up"
