"""Makes the tables with which the office of every episode begins: once in a process, from a fixed seed, and read-only."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from types import MappingProxyType

from ray_gym.envs.workplace_assistant import words
from ray_gym.envs.workplace_assistant.clock import NOW, TODAY, format_day, format_moment
from ray_gym.envs.workplace_assistant.rows import (
    BOARDS,
    LIST_NAMES,
    PRODUCTS,
    SOURCES,
    STATUSES,
    CalendarEvent,
    CustomerRecord,
    Email,
    Person,
    ProjectTask,
    Visit,
)
from ray_gym.envs.workplace_assistant.table import RowT

SEED = 41
PEOPLE = 240
EMAILS = 300
TASKS = 300
CUSTOMERS = 220
VISITORS = 120
DAYS_OF_VISITS = 60
OPENS, CLOSES = time(9), time(18)


@dataclass(frozen=True)
class BaseData:
    """Holds the tables of the office."""

    people: Mapping[str, Person]
    """People by address, the user first."""
    emails: Mapping[str, Email]
    """Emails by id."""
    events: Mapping[str, CalendarEvent]
    """Events by id."""
    visits: Sequence[Visit]
    """Visits in order of time."""
    tasks: Mapping[str, ProjectTask]
    """Tasks by id."""
    customers: Mapping[str, CustomerRecord]
    """Customers by id."""


@cache
def base_data() -> BaseData:
    """Returns the tables, which are made at the first call and are the same objects in all later ones."""
    return generate_base_data(SEED)


def generate_base_data(seed: int) -> BaseData:
    """Makes the tables. Each table is drawn from its own random numbers, so that a change of one does not change the
    others.
    """
    people = list(_people(random.Random(f"people/{seed}")))
    addresses = [person.address for person in people[1:]]
    return BaseData(
        MappingProxyType({person.address: person for person in people}),
        _by_id(_emails(random.Random(f"emails/{seed}"), addresses[:70])),
        _by_id(_events(random.Random(f"events/{seed}"), addresses[10:70])),
        tuple(_visits(random.Random(f"visits/{seed}"))),
        _by_id(_tasks(random.Random(f"tasks/{seed}"), addresses[20:75])),
        _by_id(_customers(random.Random(f"customers/{seed}"), addresses[30:60])),
    )


def _by_id(rows: Iterator[RowT]) -> Mapping[str, RowT]:
    return MappingProxyType({row.id: row for row in rows})


def _people(rng: random.Random) -> Iterator[Person]:
    """Makes people. Names are unique; addresses are written in several ways, so that nobody can guess them."""
    yield Person(*words.USER)
    taken = {words.USER[1]}
    for first, last in rng.sample(list(itertools.product(words.FIRST_NAMES, words.LAST_NAMES)), PEOPLE - 1):
        one, other = first.lower(), last.lower()
        ways = [f"{one}.{other}", f"{one[0]}.{other}", f"{other}.{one}", f"{one}{other[0]}", f"{one}_{other}"]
        rng.shuffle(ways)
        address = next(way for way in (f"{way}@{words.DOMAIN}" for way in ways) if way not in taken)
        taken.add(address)
        yield Person(f"{first} {last}", address, rng.choice(words.ROLES))


def _emails(rng: random.Random, senders: Sequence[str]) -> Iterator[Email]:
    """Makes the emails that the user was sent in the last weeks, no two in the same minute."""
    ages = sorted(rng.sample(range(60, 45 * 24 * 60), EMAILS), reverse=True)
    for number, age in enumerate(ages, 1):
        topic = rng.choice(words.TOPICS)
        subject, body = rng.choice(words.SUBJECTS).format(topic), rng.choice(words.BODIES).format(topic)
        sent_at = format_moment(NOW - timedelta(minutes=age))
        yield Email(f"email-{number}", rng.choice(senders), words.USER[1], subject, body, sent_at)


def _events(rng: random.Random, participants: Sequence[str]) -> Iterator[CalendarEvent]:
    """Makes events on working days, in working hours, none at the same time as another."""
    number = itertools.count(1)
    for day in working_days(TODAY - timedelta(days=40), TODAY + timedelta(days=40)):
        start, closing = datetime.combine(day, OPENS), datetime.combine(day, CLOSES)
        while start + timedelta(hours=1) <= closing:
            if rng.random() < 0.4:
                name, participant = rng.choice(words.MEETINGS), rng.choice(participants)
                minutes = rng.choice((30, 45, 60))
                yield CalendarEvent(f"event-{next(number)}", name, participant, format_moment(start), minutes)
                start += timedelta(minutes=30 if minutes == 30 else 60)
            else:
                start += timedelta(minutes=30)


def _visits(rng: random.Random) -> Iterator[Visit]:
    for age in range(DAYS_OF_VISITS, 0, -1):
        day = format_day(TODAY - timedelta(days=age))
        for _ in range(rng.randint(3, 12)):
            visitor = f"visitor-{rng.randint(1, VISITORS)}"
            yield Visit(visitor, day, rng.randint(1, 30), rng.random() < 0.45, rng.choice(SOURCES))


def _tasks(rng: random.Random, assignees: Sequence[str]) -> Iterator[ProjectTask]:
    names = rng.sample(list(itertools.product(words.VERBS, words.THINGS)), TASKS)
    for number, (verb, thing) in enumerate(names, 1):
        list_name, board = rng.choice(LIST_NAMES), rng.choice(BOARDS)
        due = format_day(TODAY + timedelta(days=rng.randint(-30, 40)))
        yield ProjectTask(f"task-{number}", f"{verb} the {thing}", rng.choice(assignees), list_name, board, due)


def _customers(rng: random.Random, holders: Sequence[str]) -> Iterator[CustomerRecord]:
    names = rng.sample(list(itertools.product(words.COMPANY_FIRST, words.COMPANY_SECOND)), CUSTOMERS)
    for number, (first, second) in enumerate(names, 1):
        yield CustomerRecord(
            f"customer-{number}",
            f"{first} {second}",
            f"office@{first.lower()}-{second.lower()}.example",
            rng.choice(holders),
            rng.choice(PRODUCTS),
            rng.choice(STATUSES),
            format_day(TODAY - timedelta(days=rng.randint(1, 90))),
            format_day(TODAY + timedelta(days=rng.randint(1, 60))),
            rng.choice(words.CUSTOMER_NOTES),
        )


def working_days(first: date, last: date) -> Iterator[date]:
    """Yields the days from Monday to Friday in a period, both ends included."""
    for offset in range((last - first).days + 1):
        day = first + timedelta(days=offset)
        if day.weekday() < 5:
            yield day
