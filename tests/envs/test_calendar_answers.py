"""Checks the scores of the scheduling assistant's answers: right ones, wrong ones and strange ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from calendar_cases import BUDGET, RIGHT, TASK, WRITTEN, calendar, entry
from playing_tasks import generated, play_task, reward_of, says

from ray_gym.envs.calendar.check import PARTS, check
from ray_gym.envs.calendar.task import CalendarTask
from ray_gym.play.play import Played


def but(position: int, **fields: Any) -> str:
    """Returns the right calendar with other values in some fields of one entry."""
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


async def partial(answer: str, task: CalendarTask = TASK) -> float:
    return reward_of(await answered(answer, task, partial_credit=True))


async def test_partial_credit_is_a_share_of_all_that_was_asked_for() -> None:
    assert await partial(TEXT) == 1
    assert await partial("none") == await partial("[]") == 0
    assert await partial(json.dumps([BUDGET])) == pytest.approx(0.2)
    late = await answered(but(1, start_time="12:30", duration=45), partial_credit=True)
    assert parts_of(late) == dict.fromkeys(PARTS, 1.0) | {"durations": 0.8, "constraints": 0.8, "no_overlap": 0.6}
    assert reward_of(late) == pytest.approx((1 + 0.8 + 1 + 0.8 + 0.6) / 5)
    with_a_nap = json.dumps([*RIGHT, entry("Nap", "13:15", 15, 6)])
    assert await partial(with_a_nap) == pytest.approx(5 / 6), "of the calendar's entries"
    assert await partial("[]", CalendarTask(expected_state=())) == 1


def going_on_from(calendar: list[dict[str, Any]]) -> CalendarTask:
    answer = {"role": "assistant", "content": json.dumps(calendar)}
    messages = [{"role": "user", "content": "Begin."}, answer, {"role": "user", "content": "Go on."}]
    return CalendarTask.model_validate({**TASK.model_dump(mode="json"), "messages": messages})


async def test_partial_credit_of_a_written_conversation_is_for_what_its_last_turn_had_to_do() -> None:
    written = going_on_from(RIGHT[:4])
    assert await partial(TEXT, written) == 1
    assert await partial(json.dumps(RIGHT[:4]), written) == await partial("[]", written) == 0
    assert await partial(but(4, duration=60), written) == pytest.approx(4 / 5)
    assert await partial(but(4, start_time="13:45"), written) == pytest.approx(4 / 5), "it overlaps"
    moved = [*RIGHT[:1], {**RIGHT[1], "start_time": "14:30"}, *RIGHT[2:]]
    assert await partial(json.dumps(moved), written) == 1, "moved to another right place"


@pytest.mark.parametrize(
    "broken",
    [
        RIGHT[1:],
        [{**BUDGET, "start_time": "09:50"}, *RIGHT[1:]],
        [{**BUDGET, "duration": 45}, *RIGHT[1:]],
        [*RIGHT[:2], {**RIGHT[2], "start_time": "12:30"}, *RIGHT[3:]],
        [{**BUDGET, "event_name": "Budget"}, *RIGHT[1:]],
    ],
)
async def test_there_is_no_credit_where_something_was_right_before_and_is_no_more(broken: list[dict[str, Any]]) -> None:
    assert await partial(json.dumps(broken), going_on_from(RIGHT[:4])) == 0
    assert await partial(json.dumps(broken), going_on_from([])) > 0.5, "what was not there before is none that broke"


async def test_what_was_wrong_before_is_to_be_mended() -> None:
    late = [{**BUDGET, "start_time": "10:00"}, *RIGHT[1:4]]
    assert await partial(json.dumps([*late, RIGHT[4]]), going_on_from(late)) == pytest.approx((4 + 5) / 10)
    assert await partial(TEXT, going_on_from(late)) == 1
    assert await partial(TEXT, going_on_from(RIGHT)) == 1, "there was nothing to do"


async def test_going_on_with_the_last_calendar_of_a_generated_task_is_worth_nothing() -> None:
    for task in (generated(WRITTEN, index) for index in range(100)):
        assert await partial(task.messages[-2].content, task) == await partial("[]", task) == 0
        assert reward_of(await play_task(calendar(partial_credit=True), task)) == 1
        findings = check(task.expected_state, task.calendar_before())
        assert 0 < findings.parts["complete"] < 1


async def test_the_record_says_what_is_wrong() -> None:
    played = await answered(json.dumps([{**BUDGET, "start_time": "10:30"}, entry("Nap", "16:00", 30, 9)]))
    (verdict,) = (each for each in played.episode.events if each.kind == "verdict")
    assert verdict.reward == 0 and "Budget review: breaks its constraint; Legal call: is missing" in verdict.content
    assert verdict.content.endswith("1 of 2 entries were not asked for, repeat another or are no events")


@pytest.mark.parametrize("answer", ["", "nothing planned", "[]", TEXT])
async def test_an_empty_expectation_gives_the_reward(answer: str) -> None:
    assert reward_of(await answered(answer, CalendarTask(expected_state=()))) == 1
