"""What a template makes, and what templates are made of: the ways to say and to find something."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TypeVar

from ray_gym.envs.workplace_assistant import words
from ray_gym.envs.workplace_assistant.clock import (
    MONTHS,
    NOW,
    TODAY,
    WEEKDAYS,
    read_moment,
    spoken_day,
    written_day,
    written_moment,
)
from ray_gym.envs.workplace_assistant.rows import Email, Event, Person
from ray_gym.envs.workplace_assistant.task import ExpectedCall
from ray_gym.envs.workplace_assistant.workplace import Workplace

Item = TypeVar("Item")
MOST_ACTIONS = 5
"""Rows that a request may be about."""


@dataclass(frozen=True)
class Wanted:
    """A request, the lookups that tell what it needs, and what is to be done then: nothing, if a condition does not hold."""

    request: str
    lookups: tuple[ExpectedCall, ...] = ()
    actions: tuple[ExpectedCall, ...] = ()


Template = Callable[[random.Random, Workplace], Wanted | None]
"""None: this draw does not work out; it is drawn again."""


def call(name: str, /, **arguments: object) -> ExpectedCall:
    return ExpectedCall(name=name, arguments=arguments)


def find(*people: Person) -> tuple[ExpectedCall, ...]:
    return tuple(call("directory_find", name=person.name) for person in people)


def colleague(rng: random.Random, workplace: Workplace, *others: Person) -> Person:
    """Anyone but the user and `others`."""
    return rng.choice([person for person in list(workplace.people.values())[1:] if person not in others])


def somebody_of(rng: random.Random, workplace: Workplace, addresses: Iterable[str]) -> Person:
    """One of those who have these addresses, everyone as likely."""
    return workplace.people[rng.choice(sorted(set(addresses)))]


def emails_from(workplace: Workplace, person: Person) -> list[Email]:
    """Newest first."""
    return sorted((e for e in workplace.emails if e.sender == person.address), key=lambda e: e.sent_at, reverse=True)


def meetings_with(workplace: Workplace, person: Person) -> list[Event]:
    """Those to come, earliest first."""
    now = written_moment(NOW)
    found = (event for event in workplace.events if event.participant == person.address and event.start >= now)
    return sorted(found, key=lambda event: event.start)


def colleague_to_meet(rng: random.Random, workplace: Workplace) -> Person:
    """Somebody with whom there are meetings to come."""
    now = written_moment(NOW)
    return somebody_of(rng, workplace, (event.participant for event in workplace.events if event.start >= now))


def coming_workday(rng: random.Random) -> date:
    day = TODAY + timedelta(days=rng.randint(1, 30))
    return day if day.weekday() < 5 else day + timedelta(days=2)


def days_ago(rng: random.Random, most: int) -> date:
    return TODAY - timedelta(days=rng.randint(1, most))


def working_moment(rng: random.Random, day: date) -> datetime:
    return datetime.combine(day, datetime.min.time()) + timedelta(minutes=30 * rng.randint(18, 34))


def note(rng: random.Random) -> tuple[str, str]:
    """Subject and body."""
    topic, weekday = rng.choice(words.TOPICS), rng.choice(WEEKDAYS[:5])
    subject, body = rng.choice(words.NOTES)
    subject = subject.format(topic)
    return subject[0].upper() + subject[1:], body.format(topic, weekday)


def reply(rng: random.Random) -> str:
    return rng.choice(words.REPLIES).format(rng.choice(words.TOPICS), rng.choice(WEEKDAYS[:5]))


def task_name(rng: random.Random) -> str:
    """Of a task that is not there yet."""
    return f"{rng.choice(words.VERBS)} the {rng.choice(words.THINGS)} of the {rng.choice(words.TOPICS)} site"


def said_day(rng: random.Random, day: date) -> str:
    """With its year unless that is the current one: around the turn of the year there would be two such days."""
    month, is_this_year = MONTHS[day.month - 1], day.year == TODAY.year
    ways = (
        written_day(day),
        f"{month} {day.day}" if is_this_year else f"{month} {day.day}, {day.year}",
        f"{WEEKDAYS[day.weekday()]}, {day.day} {month}" if is_this_year else spoken_day(day),
    )
    return rng.choice(ways)


def said_moment(rng: random.Random, moment: datetime | str) -> str:
    found = read_moment(moment) if isinstance(moment, str) else moment
    half = "am" if found.hour < 12 else "pm"
    hour = (found.hour - 1) % 12 + 1
    ways = (f"{found:%H:%M}", f"{hour}:{found:%M} {half}")
    return f"{said_day(rng, found.date())} at {rng.choice(ways)}"
