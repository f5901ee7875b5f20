"""Checks tasks of the calendar: the generator, the solver that shows that they can be done, and which rows are read."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from calendar_cases import LIVE, WRITTEN, A, event
from playing_tasks import generated, play_task, reward_of, says
from pydantic import ValidationError

from ray_gym.config.file import read_config
from ray_gym.config.sections import TasksSection
from ray_gym.data.checking import task_of
from ray_gym.data.rows import FileRow
from ray_gym.data.tasks import read_tasks
from ray_gym.envs.calendar import Calendar
from ray_gym.envs.calendar.answer import read_calendar, write_calendar
from ray_gym.envs.calendar.check import check
from ray_gym.envs.calendar.clock import show_time
from ray_gym.envs.calendar.constraint import KINDS
from ray_gym.envs.calendar.events import ExpectedEvent
from ray_gym.envs.calendar.phrases import ask_for
from ray_gym.envs.calendar.solver import solve
from ray_gym.envs.calendar.task import CalendarTask

EXAMPLES = Path(__file__).parents[2] / "envs" / "calendar" / "example.jsonl"


def test_a_thousand_generated_tasks_are_solvable_by_the_solver_and_distinct() -> None:
    tasks = [generated(WRITTEN, index) for index in range(1000)]
    kinds, counts = set(), set()
    for task in tasks:
        schedule = solve(task.expected_state)
        assert schedule is not None
        findings = check(task.expected_state, read_calendar(write_calendar(task.expected_state, schedule)))
        assert set(findings.parts.values()) == {1.0}, findings.complaints
        kinds |= {event.rule.kind for event in task.expected_state}
        counts.add(len(task.expected_state))
    assert kinds == set(KINDS) and counts == {2, 3, 4, 5, 6, 7}
    assert len({task.model_dump_json() for task in tasks}) >= 990
    assert tasks[:50] == [generated(WRITTEN, index) for index in range(50)]
    assert tasks[:50] != [generated(WRITTEN, index, seed=1) for index in range(50)]


def test_no_line_is_cut_by_the_texts_at_which_the_user_model_of_the_config_stops() -> None:
    config = read_config(Path(__file__).parents[2] / "configs" / "calendar_live.yaml")
    stops = config.participants["user"].sampling.stop
    assert stops
    lines = [line.text for index in range(300) for line in generated(LIVE, index).user_lines]
    lines += [ask_for(each) for index in range(50) for each in generated(LIVE, index).expected_state]
    assert [line for line in lines if any(stop in line for stop in stops)] == []


def test_some_last_requests_need_earlier_events_to_move() -> None:
    moved = 0
    for task in (generated(WRITTEN, index) for index in range(200)):
        before = [each for each in read_calendar(task.messages[-2].content) or [] if each is not None]
        kept = [event(-n, each.name, each.duration, f"at {show_time(each.start)}") for n, each in enumerate(before, 1)]
        moved += solve([*kept, task.expected_state[-1]]) is None
    assert moved > 10


@pytest.mark.parametrize(
    "events",
    [
        [event(1, "A", 60, "at 10:00"), event(2, "B", 30, "at 10:45")],
        [event(1, "A", 60, "before 10:00", min_time="09:00"), event(2, "B", 15, "before 09:45", min_time="09:00")],
        [event(n, f"E{n}", 60, min_time="09:00", max_time="12:00") for n in range(4)],
        [event(1, "A", 60, "between 10:00 and 10:45")],
        [event(1, "A", 60, "after 23:30")],
        [event(1, "A", 60, "at 08:00", min_time="09:00")],
    ],
)
def test_the_solver_says_what_is_impossible(events: list[ExpectedEvent]) -> None:
    assert solve(events) is None


def test_the_solver_agrees_with_trying_everything() -> None:
    """Tries every start on a grid of 15 minutes of a short day, by the rules of the score alone."""
    rng, possible = random.Random(1), 0
    for _ in range(150):
        events = []
        for number in range(3):
            first, second = map(show_time, sorted(rng.sample(range(540, 795, 15), 2)))
            wishes = ["none", f"before {second}", f"after {first}", f"at {first}", f"between {first} and {second}"]
            length = rng.choice([45, 60, 90, 120])
            events.append(event(number, f"E{number}", length, rng.choice(wishes), min_time="09:00", max_time="13:00"))
        found = solve(events)
        assert (found is not None) == any(map(fits_together, product(*map(allowed_spans, events)))), events
        if found is not None:
            spans = [(found[each.event_id], found[each.event_id] + each.duration) for each in events]
            assert fits_together(spans) and all(
                span in allowed_spans(each) for span, each in zip(spans, events, strict=True)
            )
        possible += found is not None
    assert 30 < possible < 120, "both kinds were tried"


def allowed_spans(of: ExpectedEvent) -> list[tuple[int, int]]:
    spans = [(start, start + of.duration) for start in range(540, 780, 15)]
    return [(start, end) for start, end in spans if end <= 780 and of.rule.holds(start, end)]


def fits_together(spans: Sequence[tuple[int, int]]) -> bool:
    return all(end <= start for (_, end), (start, _) in pairwise(sorted(spans)))


def test_the_example_rows_are_read() -> None:
    rows = read_tasks(TasksSection(path=str(EXAMPLES)), WRITTEN, 0, Path())
    assert len(rows) == 5 and len({row.task_id for row in rows}) == 5


@pytest.mark.parametrize("environment", [WRITTEN, LIVE])
async def test_the_example_rows_can_be_played_in_both_modes(environment: Calendar) -> None:
    for line in EXAMPLES.read_text().splitlines():
        assert reward_of(await play_task(environment, CalendarTask.model_validate_json(line))) == 1


def test_rows_may_spell_events_by_id_and_times_on_the_twelve_hour_clock() -> None:
    given = {"event_name": "A", "duration": 30, "min_time": "10am", "max_time": "4 p.m.", "constraint": None}
    wishes = {"0": None, "1": "Before 11:30am", "2": "between 12pm and 1:15 PM", "3": "after 9:05", "4": "at 12 am"}
    rows = {key: {**given, "event_name": key, "constraint": wish} for key, wish in wishes.items() if key != "4"}
    task = CalendarTask.model_validate({"expected_state": rows})
    assert [each.event_id for each in task.expected_state] == [0, 1, 2, 3]
    assert {(each.min_time, each.max_time) for each in task.expected_state} == {("10:00", "16:00")}
    constraints = [each.constraint for each in task.expected_state]
    assert constraints == ["none", "before 11:30", "between 12:00 and 13:15", "after 09:05"]
    assert event(4, "Midnight", 30, wishes["4"]).constraint == "at 00:00"
    assert CalendarTask.model_validate_json(task.model_dump_json()) == task


@pytest.mark.parametrize("environment", [WRITTEN, LIVE])
async def test_a_row_may_say_when_its_events_begin(environment: Calendar) -> None:
    row = {
        "responses_create_params": {
            "input": [
                {"role": "developer", "content": "You keep a calendar, as JSON."},
                {"role": "user", "content": "One hour for the team meeting, from 10am on please"},
            ]
        },
        "expected_state": {"1": {"event_name": "Team Meeting", "start_time": "10:00", "duration": 60}},
    }
    task = task_of(FileRow("row", 1, row), environment)
    assert isinstance(task, CalendarTask) and task.expected_state == (event(1, "Team Meeting", 60, "at 10:00"),)
    assert CalendarTask.model_validate_json(task.model_dump_json()) == task
    assert reward_of(await play_task(environment, task)) == 1
    late = says('[{"event_id": 1, "event_name": "Team Meeting", "start_time": "10:01", "duration": 60}]')
    assert reward_of(await play_task(environment, task, {"policy": late})) == 0
    assert event(2, "A", 60, start_time=None).constraint == "none"


B = {**A, "event_id": 2, "event_name": "B"}


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({}, "Field required"),
        ({"expected_state": [{**A, "duration": 0}]}, "greater than or equal to 1"),
        ({"expected_state": [{**A, "duration": "long"}]}, "valid integer"),
        ({"expected_state": [{**A, "event_name": " "}]}, "at least 1 character"),
        ({"expected_state": [{**A, "min_time": "25:00"}]}, "'25:00' is no time of a day: write HH:MM, as in 14:30"),
        ({"expected_state": [{**A, "constraint": "soon"}]}, "'soon' is no constraint: write before T, after T"),
        ({"expected_state": [{**A, "start_time": "ten"}]}, "'ten' is no time of a day"),
        ({"expected_state": [{**A, "start_time": "10:00", "constraint": "after 09:00"}]}, "write only one of start_time and"),
        ({"expected_state": [{**A, "constraint": "at noon"}]}, "'noon' is no time of a day"),
        ({"expected_state": [{**A, "constraint": "between 12:00 and 11:00"}]}, "12:00 is not before 11:00"),
        ({"expected_state": [{**A, "constraint": "at 16:30"}]}, "expected_state[0]: 'A' (60 minutes, at 16:30) fits nowhere"),
        ({"expected_state": [A, {**B, "event_id": 1}]}, "expected_state[1]: event_id '1' is taken by an event before it"),
        ({"expected_state": [A, {**B, "event_name": " a"}]}, "expected_state[1]: event_name 'a' is taken"),
        ({"expected_state": [{**A, "constraint": "at 10:00"}, {**B, "constraint": "at 10:30"}]}, "no schedule has room"),
        ({"expected_state": [{**A, "event_id": n, "event_name": f"{n}"} for n in range(13)]}, "at most 12 items"),
        ({"expected_state": [A], "user_lines": [{"text": "Hello"}]}, "user_lines: no line asks for 'A'"),
        ({"expected_state": [A], "user_lines": [{"text": "Put it in", "event_id": 1}]}, "it asks for 'A', and does not say so"),
        ({"expected_state": [A], "user_lines": [{"text": "A", "event_id": 2}]}, "user_lines[0]: event 2 is not expected"),
        ({"expected_state": [A], "user_lines": [{"text": "A", "event_id": 1}] * 2}, "user_lines[1]: event 1 is not expected"),
        ({"expected_state": [A], "exam": 1}, "Extra inputs are not permitted"),
    ],
)  # fmt: skip
def test_bad_rows_are_refused(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        CalendarTask.model_validate(row)
