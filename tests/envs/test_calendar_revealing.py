"""Checks what the policy hears of a user model's messages, whatever they say."""

from __future__ import annotations

from typing import Any

import pytest

from ray_gym.envs.calendar.phrases import NO_CALENDAR
from ray_gym.envs.calendar.revealing import NOTHING_NEW, ONLY_THIS, Revealed, reveal
from ray_gym.envs.calendar.task import CalendarTask, UserLine

HOUR = {"event_id": 1, "event_name": "Budget review", "duration": 60, "constraint": "before 11:00"}
REQUEST = UserLine(text='I need an hour for "Budget review", done before 11:00.', event_id=1)
SNOW = UserLine(text="By the way, it has started to snow here.")


def heard(text: str, *lines: UserLine, **of_event: Any) -> tuple[str, int]:
    """Returns what the policy hears of a message when these lines are due, and how many are left."""
    task = CalendarTask.model_validate({"expected_state": [{**HOUR, **of_event}]})
    revealed = reveal(task, lines, [text], None)
    return revealed.heard[0], len(revealed.owed)


@pytest.mark.parametrize(
    "text",
    [
        REQUEST.text,
        f"Hello! {REQUEST.text.upper()} Thanks, that is all.",
        f"{NO_CALENDAR} {REQUEST.text}",
        'Could you put "Budget review" into my calendar? It takes 60 minutes, it has to be over by 11:00.',
        "budget  review, one hour, ending no later than 11:00, please",
    ],
)
def test_a_request_in_its_own_words_or_in_ours_is_heard_as_it_was_said(text: str) -> None:
    assert heard(text, REQUEST) == (text, 0)


@pytest.mark.parametrize(
    "text",
    [
        'I need half an hour for "Budget review", done before 11:00.',
        'I need an hour and a half for "Budget review", done before 11:00.',
        'I need 160 minutes for "Budget review", done before 11:00.',
        'I need two times an hour for "Budget review", done before 11:00.',
        'I need an hour for "Budget review", some time after 11:00.',
        'I need an hour for "Budget review", not done before 11:00.',
        'I need an hour for "Budget review", done before 11:00 pm.',
        'I need an hour for "Budget review" at 11:00.',
        'I need an hour for "Budget review".',
        'I need an hour for "Budget", done before 11:00.',
        'I need an hour for "Budget review", done before 11:00, and for "Dentist", too.',
        f"{REQUEST.text} No, make that two hours.",
        f"{REQUEST.text} And a nap at 15:00.",
        f"I do not mean this: {REQUEST.text}",
        "Cancel all my events.",
        "Hello!",
    ],
)
def test_what_else_a_message_says_is_put_right_behind_it(text: str) -> None:
    assert heard(text, REQUEST) == (f"{text}\n{ONLY_THIS}\n{REQUEST.text}", 0)


def test_a_wish_for_any_time_needs_no_words() -> None:
    line = UserLine(text='I need an hour for "Budget review", any time will do.', event_id=1)
    bare = "Please add Budget review, 60 minutes"
    assert heard(bare, line, constraint=None) == (bare, 0)
    timed = f"{bare}, done before 11:00."
    assert heard(timed, line, constraint=None) == (f"{timed}\n{ONLY_THIS}\n{line.text}", 0)


def test_a_request_in_words_of_the_rows_own_has_to_be_made_in_them() -> None:
    line = UserLine(text="Budget review! An hour of it, before eleven.", event_id=1)
    assert heard(f"Hello. {line.text}", line) == (f"Hello. {line.text}", 0)
    assert heard(REQUEST.text, line) == (f"{REQUEST.text}\n{ONLY_THIS}\n{line.text}", 0)


def test_what_is_neither_a_request_nor_small_talk_of_its_own_changes_nothing() -> None:
    assert heard(SNOW.text, SNOW, REQUEST) == (SNOW.text, 1)
    assert heard("Thanks!", SNOW, REQUEST) == ("Thanks!", 1)
    assert heard("", SNOW, REQUEST) == (SNOW.text, 1)
    assert heard("Forget the dentist.", SNOW, REQUEST) == (f"Forget the dentist.\n{NOTHING_NEW}", 1)
    assert heard('Make "Budget review" longer.') == (f'Make "Budget review" longer.\n{NOTHING_NEW}', 0)
    assert heard("Thank you, that is all.") == ("Thank you, that is all.", 0)


@pytest.mark.parametrize(
    ("text", "is_over"),
    [
        ("done", True),
        ("That is all. done", True),
        ("Great!\n**done**\n", True),
        ("done\nThank you.", True),
        ("Could that be done earlier?", False),
        ("I would like to have it done", False),
        ("It is undone", False),
        ("Well done. Now the rest.", False),
    ],
)
def test_a_stop_text_counts_where_it_stands_alone(text: str, is_over: bool) -> None:
    task = CalendarTask.model_validate({"expected_state": [HOUR]})
    assert reveal(task, [REQUEST], [REQUEST.text, text], "done").is_closed is is_over
    assert reveal(task, [REQUEST], [text, REQUEST.text], "done").is_closed is False


def test_a_stop_text_that_is_no_word_may_follow_any_word_at_the_end() -> None:
    task = CalendarTask.model_validate({"expected_state": [HOUR]})
    assert reveal(task, [REQUEST], [REQUEST.text, "Thank you [DONE]"], "[DONE]").is_closed
    assert not reveal(task, [REQUEST], [REQUEST.text, "Is [DONE] what I say?"], "[DONE]").is_closed


def test_a_stop_text_inside_of_a_request_is_left_in_it() -> None:
    assert reveal(CalendarTask.model_validate({"expected_state": [HOUR]}), [REQUEST], [REQUEST.text], "done") == (
        Revealed([REQUEST.text], [], is_closed=False)
    )


def test_of_a_huge_message_nothing_counts() -> None:
    text, owed = heard("I say " * 10_000 + REQUEST.text, REQUEST)
    assert text.endswith(f"\n{ONLY_THIS}\n{REQUEST.text}") and owed == 0
