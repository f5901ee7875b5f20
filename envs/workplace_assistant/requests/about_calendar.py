"""Makes requests about the user's calendar."""

from __future__ import annotations

import random
from datetime import timedelta

from ray_gym.envs.workplace_assistant import words
from ray_gym.envs.workplace_assistant.clock import TODAY, format_day, format_moment, read_moment
from ray_gym.envs.workplace_assistant.requests.wanted import (
    MOST_ACTIONS,
    Template,
    Wanted,
    call,
    colleague,
    colleague_to_meet,
    coming_workday,
    find,
    meetings_with,
    phrase_day,
    phrase_moment,
    working_moment,
)
from ray_gym.envs.workplace_assistant.workplace import Workplace


def book(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to book a meeting."""
    person, name, minutes = colleague(rng, workplace), rng.choice(words.MEETINGS), rng.choice((15, 30, 45, 60, 90))
    start = working_moment(rng, coming_workday(rng))
    when = phrase_moment(rng, start)
    request = rng.choice(
        (
            f'Book a meeting of {minutes} minutes called "{name}" with {person.name} on {when}.',
            f'Put "{name}" with {person.name} into my calendar: {when}, {minutes} minutes.',
            f'I want to meet {person.name} on {when} for {minutes} minutes. The event is called "{name}".',
        )
    )
    action = call("calendar_create", name=name, participant=person.address, start=format_moment(start), minutes=minutes)
    return Wanted(request, find(person), (action,))


def cancel_one(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to cancel a meeting."""
    person = colleague_to_meet(rng, workplace)
    event = rng.choice(meetings_with(workplace, person))
    when, day = phrase_moment(rng, event.start), event.start[:10]
    request = rng.choice(
        (
            f"Cancel my meeting with {person.name} on {when}.",
            f"The meeting with {person.name} on {when} will not take place. Take it out of my calendar.",
            f"I can't meet {person.name} on {when}; please delete that event.",
        )
    )
    search = call("calendar_search", query=person.address, from_date=day, to_date=day)
    return Wanted(request, (*find(person), search), (call("calendar_delete", event_id=event.id),))


def move_next(rng: random.Random, workplace: Workplace) -> Wanted | None:
    """Draws a request to move the next meeting with a person. Returns None if the draw is the meeting's own time."""
    person = colleague_to_meet(rng, workplace)
    event, start = meetings_with(workplace, person)[0], working_moment(rng, coming_workday(rng))
    if event.start == format_moment(start):
        return None
    when = phrase_moment(rng, start)
    request = rng.choice(
        (
            f"Move my next meeting with {person.name} to {when}.",
            f"My next meeting with {person.name} has to be on {when} instead. Please change it.",
            f"Postpone or bring forward the next event I have with {person.name}, so that it starts on {when}.",
        )
    )
    search = call("calendar_search", query=person.address, from_date=format_day(TODAY))
    action = call("calendar_update", event_id=event.id, field="start", new_value=format_moment(start))
    return Wanted(request, (*find(person), search), (action,))


def change_length(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to change the length of a meeting."""
    person = colleague_to_meet(rng, workplace)
    event = rng.choice(meetings_with(workplace, person))
    minutes = rng.choice([each for each in (15, 20, 30, 45, 60, 75, 90) if each != event.minutes])
    when, day = phrase_moment(rng, event.start), event.start[:10]
    request = rng.choice(
        (
            f"My meeting with {person.name} on {when} should last {minutes} minutes.",
            f"Set the length of the meeting with {person.name} on {when} to {minutes} minutes.",
            f"For {person.name} on {when} I need {minutes} minutes. Please change the event.",
        )
    )
    search = call("calendar_search", query=person.address, from_date=day, to_date=day)
    action = call("calendar_update", event_id=event.id, field="minutes", new_value=str(minutes))
    return Wanted(request, (*find(person), search), (action,))


def cancel_until(rng: random.Random, workplace: Workplace) -> Wanted | None:
    """Draws a request to cancel all meetings with a person from today to a day. Returns None if the draw would change
    more than `MOST_ACTIONS` rows.
    """
    person, last = colleague_to_meet(rng, workplace), coming_workday(rng)
    found = [event for event in meetings_with(workplace, person) if event.start[:10] <= format_day(last)]
    if len(found) > MOST_ACTIONS:
        return None
    until = phrase_day(rng, last)
    request = rng.choice(
        (
            f"Cancel all meetings that I have with {person.name} from today to {until}, both days included.",
            f"{person.name} is away up to and including {until}. Cancel what we have in my calendar from today on until then.",
            f"Remove every event with {person.name} between today and {until} (inclusive) from my calendar.",
        )
    )
    search = call("calendar_search", query=person.address, from_date=format_day(TODAY), to_date=format_day(last))
    return Wanted(request, (*find(person), search), tuple(call("calendar_delete", event_id=e.id) for e in found))


def book_if_free(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to book a meeting on the condition that the user is free for all of its time. If the condition
    does not hold, the request has no actions.
    """
    person, name, minutes = colleague(rng, workplace), rng.choice(words.MEETINGS), rng.choice((30, 60))
    start = working_moment(rng, coming_workday(rng))
    end, day = start + timedelta(minutes=minutes), format_day(start.date())
    is_free = all(
        read_moment(event.start) >= end or read_moment(event.start) + timedelta(minutes=event.minutes) <= start
        for event in workplace.events
        if event.start[:10] == day
    )
    when = phrase_moment(rng, start)
    request = rng.choice(
        (
            f'If I am free for {minutes} minutes on {when}, book "{name}" with {person.name} for all of that time. '
            "If not, leave my calendar as it is.",
            f"Check whether anything overlaps with the {minutes} minutes from {when}. Only if nothing does, create "
            f'the event "{name}" with {person.name} for them.',
            f'I would like to have "{name}" with {person.name} on {when} ({minutes} minutes), but only if I have '
            "nothing else at that time.",
        )
    )
    action = call("calendar_create", name=name, participant=person.address, start=format_moment(start), minutes=minutes)
    lookups = (call("calendar_search", from_date=day, to_date=day), *find(person))
    return Wanted(request, lookups, (action,) if is_free else ())


TEMPLATES: tuple[Template, ...] = (book, cancel_one, move_next, change_length, cancel_until, book_if_free)
