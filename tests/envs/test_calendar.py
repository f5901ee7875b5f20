"""Written and live conversations with a scheduling assistant, and the solver that shows that every task can be done."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from envs.calendar import Calendar
from envs.calendar.answer import read_calendar, write_calendar
from envs.calendar.check import PARTS, check
from envs.calendar.clock import show_time
from envs.calendar.constraint import KINDS
from envs.calendar.events import ExpectedEvent
from envs.calendar.players import NO_CALENDAR, scripted_user
from envs.calendar.prompts import ASSISTANT
from envs.calendar.solver import solve
from envs.calendar.task import CalendarTask
from ray_gym import Message
from ray_gym.config import TasksSection
from ray_gym.models.base import CompletionRequest
from ray_gym.play import Played
from ray_gym.stop import StopReason
from ray_gym.tasks import read_tasks
from tests.envs.playing_tasks import generated, play_task, reward_of, says

EXAMPLES = Path(__file__).parents[2] / "envs" / "calendar" / "example.jsonl"


def calendar(**options: Any) -> Calendar:
    return Calendar(Calendar.Options(**options))


WRITTEN, LIVE = calendar(), calendar(mode="live")


def event(event_id: int, name: str, duration: int, constraint: str | None = None, **window: str) -> ExpectedEvent:
    return ExpectedEvent(event_id=event_id, event_name=name, duration=duration, constraint=constraint, **window)


def entry(name: Any, start: Any, duration: Any, event_id: Any) -> dict[str, Any]:
    return {"event_id": event_id, "event_name": name, "start_time": start, "duration": duration}


DAY = {"min_time": "09:00", "max_time": "17:00"}
TASK = CalendarTask(
    expected_state=(
        event(1, "Budget review", 60, "before 10:45", **DAY),
        event(2, "Legal call", 30, "after 14:00", **DAY),
        event(3, "Hiring lunch", 45, "between 12:00 and 13:00", **DAY),
        event(4, "Safety walkthrough", 30, "at 11:00", **DAY),
        event(5, "Travel planning", 90, **DAY),
    )
)
BUDGET = entry("Budget review", "09:30", 60, 1)
RIGHT = [
    BUDGET,
    entry("Legal call", "14:00", 30, 2),
    entry("Hiring lunch", "12:15", 45, 3),
    entry("Safety walkthrough", "11:00", 30, 4),
    entry("Travel planning", "15:30", 90, 5),
]


def but(position: int, **fields: Any) -> str:
    """The right calendar but for some fields of one entry."""
    return json.dumps([{**each, **fields} if place == position else each for place, each in enumerate(RIGHT)])


def without(position: int, field: str) -> str:
    return json.dumps(
        [{k: v for k, v in e.items() if place != position or k != field} for place, e in enumerate(RIGHT)]
    )


async def answered(answer: str, task: CalendarTask = TASK, **options: Any) -> Played:
    return await play_task(calendar(**options), task, {"policy": says(answer)})


def parts_of(played: Played) -> dict[str, float]:
    assert played.score is not None
    assert set(played.score.parts) == set(PARTS)
    return dict(played.score.parts)


# ---- what an answer is worth ----


BY_ID = {str(each["event_id"]): {key: each[key] for key in each if key != "event_id"} for each in RIGHT}
TEXT = json.dumps(RIGHT)


@pytest.mark.parametrize(
    "answer",
    [
        TEXT,
        f"Here you are [as asked]:\n```json\n{json.dumps(RIGHT, indent=2)}\n```\nAnything else? {{smile}}",
        f"First I had {json.dumps(RIGHT[:2])}, now it is {TEXT}",
        f"{TEXT}\nConflicts: []",
        json.dumps(BY_ID),
        json.dumps({"calendar": RIGHT}),
        json.dumps({"calendar": BY_ID}),
        json.dumps(RIGHT[::-1]),
        but(0, event_name="  budget  REVIEW "),
        but(0, start_time="9:30"),
        but(0, duration=60.0),
        but(0, event_id="first", location="room [3]", attendees=[]),
    ],
)
async def test_every_spelling_of_a_right_calendar_gets_the_reward(answer: str) -> None:
    played = await answered(answer)
    assert reward_of(played) == 1 and set(parts_of(played).values()) == {1.0}


@pytest.mark.parametrize(
    ("answer", "broken"),
    [
        ("I have put everything into your calendar.", {*PARTS}),
        ("", {*PARTS}),
        (TEXT[:-1], {*PARTS}),
        (json.dumps(BUDGET), {*PARTS}),
        ("[1, 2, 3]", {*PARTS}),
        ("[]", {*PARTS} - {"parsed"}),
        (f"{TEXT} or rather {json.dumps([BUDGET])}", {"complete", "durations", "windows", "constraints", "no_overlap"}),
        (but(1, duration=45), {"durations"}),
        (but(4, start_time="15:31"), {"windows"}),
        (but(4, start_time="23:30"), {"windows"}),
        (but(0, start_time="09:46"), {"constraints"}),
        (but(1, start_time="13:59"), {"constraints"}),
        (but(2, start_time="11:59"), {"constraints"}),
        (but(2, start_time="12:16"), {"constraints"}),
        (but(3, start_time="11:01"), {"constraints"}),
        (but(4, start_time="13:00"), {"no_overlap"}),
        (json.dumps([*RIGHT, entry("Nap", "13:15", 15, 6)]), {"asked_for"}),
        (json.dumps([*RIGHT, entry("Nap", "12:15", 15, 6)]), {"asked_for", "no_overlap"}),
        (json.dumps([*RIGHT, entry("Legal call", "16:59", 1, 6)]), {"asked_for", "no_overlap"}),
        (json.dumps([*RIGHT, BUDGET]), {"asked_for", "no_overlap"}),
        (json.dumps([*RIGHT, {}]), {"asked_for"}),
    ],
)
async def test_wrong_calendars_lose_the_reward_by_the_part_that_is_wrong(answer: str, broken: set[str]) -> None:
    played = await answered(answer)
    assert reward_of(played) == 0
    assert {name for name, value in parts_of(played).items() if value < 1} == broken


MISSING = {"asked_for", "complete", "durations", "windows", "constraints", "no_overlap"}


@pytest.mark.parametrize(
    "answer",
    [
        but(0, event_name="Budget"),
        but(0, event_name=None),
        but(0, event_id=2),
        but(0, event_id=True),
        but(0, event_id=[1]),
        but(0, start_time="24:00"),
        but(0, start_time="9:5"),
        but(0, start_time="09:60"),
        but(0, start_time="-1:30"),
        but(0, start_time="9:30 AM"),
        but(0, start_time="٠٩:٣٠"),
        but(0, start_time=9.5),
        but(0, duration="60"),
        but(0, duration=-60),
        but(0, duration=0),
        but(0, duration=60.5),
        but(0, duration=True),
        but(0, duration=10**30),
        but(0, duration=1441),
        but(0, duration=float("nan")),
        but(0, duration=float("inf")),
        but(0, duration=None),
        without(0, "event_id"),
        without(0, "event_name"),
        without(0, "start_time"),
        without(0, "duration"),
    ],
)
async def test_an_entry_that_is_no_event_is_missing_and_was_not_asked_for(answer: str) -> None:
    played = await answered(answer)
    assert reward_of(played) == 0
    parts = parts_of(played)
    assert {name for name, value in parts.items() if value < 1} >= MISSING - {"no_overlap"}
    assert parts["complete"] == parts["asked_for"] == 0.8


@pytest.mark.parametrize(
    "answer",
    [
        "[" * 50_000,
        '[{"a":' * 20_000,
        '{"a":' * 20_000,
        ('[{"a":' * 700 + "x") * 10,
        '[{"duration": ' + "1" * 5_000 + "}]",
        '[{"duration": 1e999999}]',
        '[{"event_name": "\\ud800", "event_id": "\\ud800", "start_time": "\\ud800", "duration": 1}]',
        '[{"event_id": 1, "event_id": {}}]',
        "[{]}",
        '{"": {"event_name": {}}}',
    ],
)
async def test_nothing_that_is_answered_raises(answer: str) -> None:
    assert reward_of(await answered(answer)) == 0


async def test_partial_credit_is_the_mean_of_the_parts() -> None:
    assert reward_of(await answered(TEXT, partial_credit=True)) == 1
    assert reward_of(await answered("none", partial_credit=True)) == 0
    assert reward_of(await answered("[]", partial_credit=True)) == pytest.approx(1 / 7)
    one_of_five = await answered(json.dumps([BUDGET]), partial_credit=True)
    assert reward_of(one_of_five) == pytest.approx((1 + 1 + 5 * 0.2) / 7)
    assert parts_of(one_of_five)["complete"] == 0.2
    late = await answered(but(1, start_time="12:30", duration=45), partial_credit=True)
    shares = {"durations": 0.8, "constraints": 0.8, "no_overlap": 0.6}
    assert parts_of(late) == dict.fromkeys(PARTS, 1.0) | shares
    assert reward_of(late) == pytest.approx((4 + 0.8 + 0.8 + 0.6) / 7)


async def test_the_record_says_what_is_wrong() -> None:
    played = await answered(json.dumps([{**BUDGET, "start_time": "10:30"}, entry("Nap", "16:00", 30, 9)]))
    (verdict,) = (each for each in played.episode.events if each.kind == "verdict")
    assert verdict.reward == 0 and "Budget review: breaks its constraint; Legal call: is missing" in verdict.content
    assert verdict.content.endswith("1 of 2 entries were not asked for, repeat another or are no events")


@pytest.mark.parametrize("answer", ["", "nothing planned", "[]", TEXT])
async def test_an_empty_expectation_gives_the_reward(answer: str) -> None:
    assert reward_of(await answered(answer, CalendarTask(expected_state=()))) == 1


# ---- tasks, and the solver ----


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
    """By the rules of the score alone, at every start on a grid of 15 minutes of a short day."""
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


A = {"event_id": 1, "event_name": "A", "duration": 60, "min_time": "09:00", "max_time": "17:00"}
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


@pytest.mark.parametrize("options", [{"first_speaker": "policy"}, {"stop_text": "[DONE]"}])
def test_options_about_the_user_need_the_live_mode(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="this is mode: written"):
        calendar(**options)
    assert calendar(mode="live", **options).participants == ("policy", "user")


# ---- written mode ----


async def test_the_perfect_player_gets_the_reward_in_written_mode() -> None:
    for index in range(200):
        played = await play_task(WRITTEN, generated(WRITTEN, index))
        assert reward_of(played) == 1
        assert len(played.episode.turns) == 1 and played.episode.stop is not None
        assert played.episode.stop.reason == StopReason.COMPLETED


async def test_the_policy_sees_the_whole_conversation_and_plays_only_its_last_turn() -> None:
    task = generated(WRITTEN, 4)
    episode = (await play_task(WRITTEN, task)).episode
    system, *earlier, answer = episode.threads["policy"].messages
    assert system == Message("system", ASSISTANT)
    assert [(each.role, each.content) for each in earlier] == [(each.role, each.content) for each in task.messages]
    assert earlier[-1].role == "user" and task.expected_state[-1].event_name in earlier[-1].content
    assert answer.role == "assistant" and episode.usage.model_calls == 1
    for said in earlier[1::2]:
        assert said.role == "assistant" and read_calendar(said.content) is not None
    assert all(name in str(earlier) for name in (each.event_name for each in task.expected_state))
    assert (
        task.expected_state[0].min_time in earlier[0].content and task.expected_state[0].max_time in earlier[0].content
    )


async def test_a_row_without_a_conversation_asks_for_everything_at_once() -> None:
    episode = (await play_task(WRITTEN, TASK)).episode
    asked = episode.threads["policy"].messages[1].content
    assert len(asked.splitlines()) == 5
    first, *_, last = asked.splitlines()
    assert first == (
        'Please put "Budget review" into my calendar, 60 minutes, and it has to be over by 10:45. '
        "Everything has to lie between 09:00 and 17:00 today."
    )
    assert '"Travel planning" into my calendar, 90 minutes. Everything' in last
    assert ", between 12:00 and 13:00." in asked


# ---- live mode ----


def said_by_user(played: Played) -> list[str]:
    return [each.content for each in played.episode.messages_of("user")]


def heard_by_policy(played: Played) -> list[str]:
    return [each.content for each in played.episode.threads["policy"].messages if each.role == "user"]


@pytest.mark.parametrize(
    ("first_speaker", "stop_text", "tasks"),
    [("user", None, 200), ("policy", None, 30), ("user", "[DONE]", 30), ("policy", "[DONE]", 30)],
)
async def test_the_scripted_user_reveals_every_request(first_speaker: str, stop_text: str | None, tasks: int) -> None:
    environment = calendar(mode="live", first_speaker=first_speaker, stop_text=stop_text)
    small_talk = 0
    for index in range(tasks):
        task = generated(environment, index)
        played = await play_task(environment, task)
        assert reward_of(played) == 1
        said, stop = said_by_user(played), played.episode.stop
        assert said[: len(task.user_lines)] == [line.text for line in task.user_lines]
        for each in task.expected_state:
            assert any(each.event_name in text for text in said)
        assert played.episode.turns[0].speaker == first_speaker
        assert stop is not None and stop.reason == StopReason.FINISHED
        if stop_text is None:
            assert stop.text == "every request was answered" and len(said) == len(task.user_lines)
            assert played.episode.turns[-1].speaker == "policy"
        else:
            assert stop.text == "the user said that it is done" and said[-1] == "Thank you, that is all. [DONE]"
            assert len(said) == len(task.user_lines) + 1 and played.episode.turns[-1].speaker == "user"
        assert len(heard_by_policy(played)) == len(task.user_lines), "what it heard is what was said, and no more"
        small_talk += len(said) - len(task.expected_state)
    assert small_talk > tasks / 2


async def test_the_policys_calendar_grows_with_what_was_revealed() -> None:
    task = generated(LIVE, 3)
    played = await play_task(LIVE, task)
    sizes = [len(read_calendar(each.content) or []) for each in played.episode.messages_of("policy")]
    asked = [line.event_id is not None for line in task.user_lines]
    assert sizes == [sum(asked[: turn + 1]) for turn in range(len(asked))]
    user_heard = [each.content for each in played.episode.threads["user"].messages if each.role == "user"]
    policy_said = [each.content for each in played.episode.messages_of("policy")]
    assert user_heard[1:] == policy_said[:-1], "the user sees every calendar but the one that ends the episode"


async def test_only_the_last_calendar_counts() -> None:
    lines = len(generated(LIVE, 3).user_lines)
    final = write_calendar(generated(LIVE, 3).expected_state, solve(generated(LIVE, 3).expected_state) or {})
    late = await play_task(LIVE, generated(LIVE, 3), {"policy": says(*["wait"] * (lines - 1), final)})
    assert reward_of(late) == 1
    early = await play_task(LIVE, generated(LIVE, 3), {"policy": says(*[final] * (lines - 1), "as before")})
    assert reward_of(early) == 0


async def test_the_scripted_user_complains_where_it_sees_no_calendar() -> None:
    played = await play_task(LIVE, TASK, {"policy": says("Done!")})
    first, *others = said_by_user(played)
    assert NO_CALENDAR not in first and len(others) == 4 and all(text.startswith(NO_CALENDAR) for text in others)
    insists = await play_task(calendar(mode="live", stop_text="[DONE]"), TASK, {"policy": says("Done!")})
    assert said_by_user(insists)[-1] == NO_CALENDAR
    assert insists.episode.stop is not None and insists.episode.stop.reason == StopReason.MAX_TURNS


async def test_requests_that_a_user_model_leaves_out_or_garbles_reach_the_policy() -> None:
    lines = [line.text for line in TASK.lines()]
    own_words = "an hour of Budget Review, over by 10:45, and all of it from 09:00 to 17:00!"
    garbled = '"Legal call" for 30 minutes after 15:00, all of it from 09:00 to 17:00'
    player = says(own_words, garbled, "", "How are you? [DONE]", "...")
    played = await play_task(calendar(mode="live", stop_text="[DONE]"), TASK, {"user": player}, limits={"max_turns": 6})
    assert heard_by_policy(played) == [
        own_words,
        f"{garbled}\n{lines[1]}",
        lines[2],
        f"How are you?\n{lines[3]}",
        f"...\n{lines[4]}",
        "...",
    ]
    assert reward_of(played) == 1


async def test_a_user_may_ask_for_its_events_in_another_order() -> None:
    lines = [line.text for line in TASK.lines()]
    played = await play_task(LIVE, TASK, {"user": says(" ".join(lines[3:]), *lines[:3])})
    assert heard_by_policy(played) == [" ".join(lines[3:]), *lines[:3]]
    assert reward_of(played) == 1


async def test_names_that_contain_each_other_are_told_apart() -> None:
    names = ["call", "Call with Ana", "Long call with Ana"]
    events = [{**A, "event_id": number, "event_name": name} for number, name in enumerate(names)]
    task = CalendarTask.model_validate({"expected_state": events})
    assert task.mentioned("the long  CALL with Ana, recalled") == {2} and task.mentioned("a call: call with Ana.") == {
        0,
        1,
    }
    for order in (task.lines(), task.lines()[::-1]):
        played = await play_task(LIVE, task, {"user": says(*(line.text for line in order))})
        assert heard_by_policy(played) == [line.text for line in order]
        assert reward_of(played) == 1


async def test_a_user_with_its_own_stop_text_may_ask_for_corrections() -> None:
    task = CalendarTask.model_validate({"expected_state": [{**A, "constraint": "at 10:00"}]})
    wrong, right = (json.dumps([entry("A", start, 60, 1)]) for start in ("11:00", "10:00"))
    environment = calendar(mode="live", stop_text="That is it.")
    user = says(task.lines()[0].text, "Not at 11:00!", "Thanks. That is it.")
    played = await play_task(environment, task, {"policy": says(wrong, right), "user": user})
    assert reward_of(played) == 1 and len(heard_by_policy(played)) == 2
    assert played.episode.stop is not None and played.episode.stop.text == "the user said that it is done"


async def test_a_stop_text_behind_the_last_request_waits_for_its_answer() -> None:
    task = CalendarTask.model_validate({"expected_state": [A]})
    user = says(f"{task.lines()[0].text} [DONE]", "[DONE]")
    played = await play_task(calendar(mode="live", stop_text="[DONE]"), task, {"user": user})
    assert reward_of(played) == 1 and heard_by_policy(played) == [task.lines()[0].text]


async def test_a_live_user_goes_on_where_the_messages_end() -> None:
    earlier = {"role": "user", "content": 'Between 09:00 and 17:00, please: "Budget review" for an hour, before 10:45.'}
    task = CalendarTask.model_validate({**TASK.model_dump(mode="json"), "messages": [earlier]})
    played = await play_task(LIVE, task)
    assert played.episode.turns[0].speaker == "policy" and reward_of(played) == 1
    assert said_by_user(played) == [line.text for line in TASK.lines()[1:]]


async def test_the_users_prompt_is_its_own() -> None:
    prompts: dict[str, str] = {}

    def noting(request: CompletionRequest, rng: random.Random) -> Message:
        prompts["user"] = request.messages[0].content
        return scripted_user(request, rng)

    played = await play_task(calendar(mode="live", stop_text="[DONE]"), TASK, {"user": noting})
    assert all(f"{number}. {line.text}\n" in prompts["user"] for number, line in enumerate(TASK.lines(), start=1))
    assert prompts["user"].endswith("answer with exactly: [DONE]")
    assert played.episode.threads["policy"].messages[0].content == ASSISTANT


async def test_a_user_without_requests_has_nothing_to_say() -> None:
    played = await play_task(LIVE, CalendarTask(expected_state=()))
    assert said_by_user(played) == ["Thank you, that is all."] and reward_of(played) == 1
