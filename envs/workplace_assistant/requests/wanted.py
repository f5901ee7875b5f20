"""Defines what a template makes, and the parts of templates: ways to say and to find something."""

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
"""Largest number of rows that a request may be about."""


@dataclass(frozen=True)
class Wanted:
    """A wanted change is a request, the lookups that tell what it needs, and the actions to be done then.

    There are no actions if a condition does not hold.
    """

    request: str
    lookups: tuple[ExpectedCall, ...] = ()
    actions: tuple[ExpectedCall, ...] = ()


Template = Callable[[random.Random, Workplace], Wanted | None]
"""Draws a request. None means that the draw does not work out, and is made again."""


def call(name: str, /, **arguments: object) -> ExpectedCall:
    return ExpectedCall(name=name, arguments=arguments)


def find(*people: Person) -> tuple[ExpectedCall, ...]:
    return tuple(call("directory_find", name=person.name) for person in people)


def colleague(rng: random.Random, workplace: Workplace, *others: Person) -> Person:
    """Draws a person other than the user and `others`."""
    return rng.choice([person for person in list(workplace.people.values())[1:] if person not in others])


def somebody_of(rng: random.Random, workplace: Workplace, addresses: Iterable[str]) -> Person:
    """Draws a person who has one of these addresses, each as likely."""
    return workplace.people[rng.choice(sorted(set(addresses)))]


def emails_from(workplace: Workplace, person: Person) -> list[Email]:
    """Returns a person's emails, newest first."""
    return sorted((e for e in workplace.emails if e.sender == person.address), key=lambda e: e.sent_at, reverse=True)


def meetings_with(workplace: Workplace, person: Person) -> list[CalendarEvent]:
    """Returns the meetings with a person that are to come, earliest first."""
    now = format_moment(NOW)
    found = (event for event in workplace.events if event.participant == person.address and event.start >= now)
    return sorted(found, key=lambda event: event.start)


def colleague_to_meet(rng: random.Random, workplace: Workplace) -> Person:
    """Draws a person with whom there are meetings to come."""
    now = format_moment(NOW)
    return somebody_of(rng, workplace, (event.participant for event in workplace.events if event.start >= now))


def coming_workday(rng: random.Random) -> date:
    """Draws a working day after today."""
    day = TODAY + timedelta(days=rng.randint(1, 30))
    return day if day.weekday() < 5 else day + timedelta(days=2)


def days_ago(rng: random.Random, most: int) -> date:
    return TODAY - timedelta(days=rng.randint(1, most))


def working_moment(rng: random.Random, day: date) -> datetime:
    return datetime.combine(day, datetime.min.time()) + timedelta(minutes=30 * rng.randint(18, 34))


def note(rng: random.Random) -> tuple[str, str]:
    """Draws subject and body of an email."""
    topic, weekday = rng.choice(words.TOPICS), rng.choice(WEEKDAYS[:5])
    subject, body = rng.choice(words.NOTES)
    subject = subject.format(topic)
    return subject[0].upper() + subject[1:], body.format(topic, weekday)


def reply(rng: random.Random) -> str:
    return rng.choice(words.REPLIES).format(rng.choice(words.TOPICS), rng.choice(WEEKDAYS[:5]))


def task_name(rng: random.Random) -> str:
    """Draws the name of a task that is not there yet."""
    return f"{rng.choice(words.VERBS)} the {rng.choice(words.THINGS)} of the {rng.choice(words.TOPICS)} site"


def phrase_day(rng: random.Random, day: date) -> str:
    """Says a day in one of several ways, with its year unless that is the current one: else two days would be meant."""
    month, is_this_year = MONTHS[day.month - 1], day.year == TODAY.year
    ways = (
        format_day(day),
        f"{month} {day.day}" if is_this_year else f"{month} {day.day}, {day.year}",
        f"{WEEKDAYS[day.weekday()]}, {day.day} {month}" if is_this_year else spell_out_day(day),
    )
    return rng.choice(ways)


def phrase_moment(rng: random.Random, moment: datetime | str) -> str:
    found = read_moment(moment) if isinstance(moment, str) else moment
    half = "am" if found.hour < 12 else "pm"
    hour = (found.hour - 1) % 12 + 1
    ways = (f"{found:%H:%M}", f"{hour}:{found:%M} {half}")
    return f"{phrase_day(rng, found.date())} at {rng.choice(ways)}"
