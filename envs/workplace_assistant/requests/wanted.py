"""Defines the result of a template, and the parts of templates: ways to phrase and to find something."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from ray_gym.envs.workplace_assistant import words
from ray_gym.envs.workplace_assistant.clock import (
    MONTHS,
    NOW,
    TODAY,
    WEEKDAYS,
    format_day,
    format_moment,
    read_moment,
    spell_out_day,
)
from ray_gym.envs.workplace_assistant.rows import CalendarEvent, Email, Person
from ray_gym.envs.workplace_assistant.task import ExpectedCall
from ray_gym.envs.workplace_assistant.workplace import Workplace

MOST_ACTIONS = 5
"""Largest number of rows that a request may change."""


@dataclass(frozen=True)
class Wanted:
    """Holds a request with the calls that fulfil it."""

    request: str
    """Text of the request."""
    lookups: tuple[ExpectedCall, ...] = ()
    """Calls that find the necessary information."""
    actions: tuple[ExpectedCall, ...] = ()
    """Calls that change the tables; none if the request's condition does not hold."""


Template = Callable[[random.Random, Workplace], Wanted | None]
"""Function that draws a request. None means that the draw failed, and has to be repeated."""


def call(name: str, /, **arguments: object) -> ExpectedCall:
    """Makes an expected call of a tool, from its name and its arguments."""
    return ExpectedCall(name=name, arguments=arguments)


def find(*people: Person) -> tuple[ExpectedCall, ...]:
    """Returns a call for each person that looks up the person's address."""
    return tuple(call("directory_find", name=person.name) for person in people)


def colleague(rng: random.Random, workplace: Workplace, *others: Person) -> Person:
    """Draws a person other than the user and `others`."""
    return rng.choice([person for person in list(workplace.people.values())[1:] if person not in others])


def somebody_of(rng: random.Random, workplace: Workplace, addresses: Iterable[str]) -> Person:
    """Draws a person who has one of these addresses, all equally likely."""
    return workplace.people[rng.choice(sorted(set(addresses)))]


def emails_from(workplace: Workplace, person: Person) -> list[Email]:
    """Returns the emails that a person has sent, newest first."""
    return sorted((e for e in workplace.emails if e.sender == person.address), key=lambda e: e.sent_at, reverse=True)


def meetings_with(workplace: Workplace, person: Person) -> list[CalendarEvent]:
    """Returns the user's future meetings with a person, earliest first."""
    now = format_moment(NOW)
    found = (event for event in workplace.events if event.participant == person.address and event.start >= now)
    return sorted(found, key=lambda event: event.start)


def colleague_to_meet(rng: random.Random, workplace: Workplace) -> Person:
    """Draws a person with whom the user has future meetings."""
    now = format_moment(NOW)
    return somebody_of(rng, workplace, (event.participant for event in workplace.events if event.start >= now))


def coming_workday(rng: random.Random) -> date:
    """Draws a working day after today."""
    day = TODAY + timedelta(days=rng.randint(1, 30))
    return day if day.weekday() < 5 else day + timedelta(days=2)


def days_ago(rng: random.Random, most: int) -> date:
    """Draws a day before today, at most `most` days ago."""
    return TODAY - timedelta(days=rng.randint(1, most))


def working_moment(rng: random.Random, day: date) -> datetime:
    """Draws a moment of a day: a full or half hour from 9:00 to 17:00."""
    return datetime.combine(day, datetime.min.time()) + timedelta(minutes=30 * rng.randint(18, 34))


def note(rng: random.Random) -> tuple[str, str]:
    """Draws the subject and the body of an email."""
    topic, weekday = rng.choice(words.TOPICS), rng.choice(WEEKDAYS[:5])
    subject, body = rng.choice(words.NOTES)
    subject = subject.format(topic)
    return subject[0].upper() + subject[1:], body.format(topic, weekday)


def reply(rng: random.Random) -> str:
    """Draws the body of a reply."""
    return rng.choice(words.REPLIES).format(rng.choice(words.TOPICS), rng.choice(WEEKDAYS[:5]))


def task_name(rng: random.Random) -> str:
    """Draws the name of a new task."""
    return f"{rng.choice(words.VERBS)} the {rng.choice(words.THINGS)} of the {rng.choice(words.TOPICS)} site"


def phrase_day(rng: random.Random, day: date) -> str:
    """Writes a day in one of several ways. The year is left out only if it is the current one."""
    month, is_this_year = MONTHS[day.month - 1], day.year == TODAY.year
    ways = (
        format_day(day),
        f"{month} {day.day}" if is_this_year else f"{month} {day.day}, {day.year}",
        f"{WEEKDAYS[day.weekday()]}, {day.day} {month}" if is_this_year else spell_out_day(day),
    )
    return rng.choice(ways)


def phrase_moment(rng: random.Random, moment: datetime | str) -> str:
    """Writes a moment (a datetime, or a text in the tables' form) in one of several ways."""
    found = read_moment(moment) if isinstance(moment, str) else moment
    half = "am" if found.hour < 12 else "pm"
    hour = (found.hour - 1) % 12 + 1
    ways = (f"{found:%H:%M}", f"{hour}:{found:%M} {half}")
    return f"{phrase_day(rng, found.date())} at {rng.choice(ways)}"
