"""Makes requests about visits to the site, most of them with a condition."""

from __future__ import annotations

import random
from datetime import date, timedelta

from ray_gym.envs.workplace_assistant.clock import format_day
from ray_gym.envs.workplace_assistant.requests.wanted import (
    Template,
    Wanted,
    call,
    colleague,
    coming_workday,
    days_ago,
    find,
    note,
    phrase_day,
    task_name,
)
from ray_gym.envs.workplace_assistant.rows import BOARDS, METRICS, PLOT_KINDS, SOURCES
from ray_gym.envs.workplace_assistant.task import ExpectedCall
from ray_gym.envs.workplace_assistant.tools.analytics import average, visits_between
from ray_gym.envs.workplace_assistant.workplace import Workplace

_SAID = {
    "total_visits": "total visits",
    "engaged_visits": "engaged visits",
    "average_minutes": "average minutes of a visit",
    "traffic_sources": "traffic sources",
}


def plot(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request for a plot of a metric."""
    (first, last), metric, kind = _period(rng), rng.choice(METRICS), rng.choice(PLOT_KINDS)
    begin, end, what = phrase_day(rng, first), phrase_day(rng, last), _SAID[metric]
    request = rng.choice(
        (
            f"Make a {kind} plot of the {what} from {begin} to {end}.",
            f"I need the {what} between {begin} and {end} as a {kind} plot.",
            f"Please plot the {what} ({kind}, {begin} to {end}).",
        )
    )
    return Wanted(request, (), (_plot(metric, first, last, kind),))


def plot_if_changed(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request for a plot on the condition that a number of visits rose (or fell) between two days. If the
    condition does not hold, the request has no actions.
    """
    (first, last), kind = _period(rng), rng.choice(PLOT_KINDS)
    metric, tool = rng.choice((("total_visits", "total"), ("engaged_visits", "engaged")))
    before, after = (
        sum(visit.engaged or metric == "total_visits" for visit in visits_between(workplace, day, day))
        for day in (format_day(first), format_day(last))
    )
    fell = rng.random() < 0.5
    direction, holds = ("fell", after < before) if fell else ("rose", after > before)
    comparison = "fewer" if fell else "more"
    begin, end, what = phrase_day(rng, first), phrase_day(rng, last), _SAID[metric]
    request = rng.choice(
        (
            f"If the number of {what} {direction} from {begin} to {end}, make a {kind} plot of it for that period.",
            f"Were there {comparison} {what} on {end} than on {begin}? If so, plot them from {begin} to {end} "
            f"({kind}); if not, there is nothing to do.",
            f"Compare the {what} of {begin} and {end}. I want a {kind} plot of the time between the two days, both "
            f"included, only if they {direction}.",
        )
    )
    lookup = call(f"analytics_{tool}_visits", from_date=format_day(first), to_date=format_day(last))
    return Wanted(request, (lookup,), (_plot(metric, first, last, kind),) if holds else ())


def plot_sources_if(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request for a plot of traffic sources on the condition that one source brought more visits than another.
    If the condition does not hold, the request has no actions.
    """
    (first, last), kind = _period(rng), rng.choice(PLOT_KINDS)
    one, other = rng.sample(SOURCES, 2)
    found = [visit.source for visit in visits_between(workplace, format_day(first), format_day(last))]
    begin, end = phrase_day(rng, first), phrase_day(rng, last)
    request = rng.choice(
        (
            f"If more visits came from {one} than from {other} between {begin} and {end}, make a {kind} plot of the "
            "traffic sources of that period.",
            f"Check the traffic sources from {begin} to {end}. Only if {one} brought more visits than {other}, I want "
            f"them as a {kind} plot.",
        )
    )
    lookup = call("analytics_traffic_sources", from_date=format_day(first), to_date=format_day(last))
    holds = found.count(one) > found.count(other)
    return Wanted(request, (lookup,), (_plot("traffic_sources", first, last, kind),) if holds else ())


def email_if_engaged(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request for an email on the condition that there were more engaged visits than a limit. If the condition
    does not hold, the request has no actions.
    """
    (first, last), person, (subject, body) = _period(rng), colleague(rng, workplace), note(rng)
    count = sum(visit.engaged for visit in visits_between(workplace, format_day(first), format_day(last)))
    limit = max(1, count + rng.randint(-10, 10))
    begin, end = phrase_day(rng, first), phrase_day(rng, last)
    email = f'with the subject "{subject}" and the text "{body}"'
    request = rng.choice(
        (
            f"If there were more than {limit} engaged visits in all from {begin} to {end}, send {person.name} an email "
            f"{email}",
            f"Count the engaged visits between {begin} and {end}. Are they more than {limit}? Then write to {person.name}, "
            f"{email}",
        )
    )
    lookup = call("analytics_engaged_visits", from_date=format_day(first), to_date=format_day(last))
    action = call("email_send", recipient=person.address, subject=subject, body=body)
    return Wanted(request, (lookup, *find(person)), (action,) if count > limit else ())


def task_if_short(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request for a task on the condition that visits were shorter than a limit on average. If the condition
    does not hold, the request has no actions.
    """
    (first, last), person, name = _period(rng), colleague(rng, workplace), task_name(rng)
    minutes = average(visits_between(workplace, format_day(first), format_day(last)))
    limit, due, board = round(minutes) + rng.randint(-1, 2), coming_workday(rng), rng.choice(BOARDS)
    begin, end, by = phrase_day(rng, first), phrase_day(rng, last), phrase_day(rng, due)
    request = rng.choice(
        (
            f"If an average visit took less than {limit} minutes in the period from {begin} to {end}, create the task "
            f'"{name}" in the Backlog of the {board} board for {person.name}, due on {by}.',
            f"Check how long visits took on average between {begin} and {end}. Below {limit} minutes, {person.name} "
            f'gets a task: "{name}", board {board}, list Backlog, due on {by}. Otherwise nothing is to be done.',
        )
    )
    lookup = call("analytics_average_minutes", from_date=format_day(first), to_date=format_day(last))
    action = call(
        "project_create",
        name=name,
        assignee=person.address,
        list_name="Backlog",
        board=board,
        due=format_day(due),
    )
    return Wanted(request, (lookup, *find(person)), (action,) if minutes < limit else ())


def email_about_visitor(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request for an email on the condition that a visitor has come since a day. If the condition does not
    hold, the request has no actions. A visitor has few visits, so that a search shows all.
    """
    visitor, person, (subject, body) = rng.choice(workplace.visits).visitor, colleague(rng, workplace), note(rng)
    visits = [visit for visit in workplace.visits if visit.visitor == visitor]
    day = rng.choice((rng.choice(visits).day, format_day(days_ago(rng, 40))))
    since = phrase_day(rng, date.fromisoformat(day))
    email = f'an email with the subject "{subject}" and the text "{body}"'
    request = rng.choice(
        (
            f"If {visitor} has been on our site on {since} or later, send {person.name} {email}",
            f"Was {visitor} on our site again since {since} (that day included)? If so, {person.name} should get {email}",
        )
    )
    lookup = call("analytics_visitor", visitor_id=visitor)
    action = call("email_send", recipient=person.address, subject=subject, body=body)
    return Wanted(request, (lookup, *find(person)), (action,) if visits[-1].day >= day else ())


def _period(rng: random.Random) -> tuple[date, date]:
    """Draws two different days with visits, at most two weeks apart."""
    last = days_ago(rng, 40)
    return last - timedelta(days=rng.randint(1, 14)), last


def _plot(metric: str, first: date, last: date, kind: str) -> ExpectedCall:
    period = {"from_date": format_day(first), "to_date": format_day(last)}
    return call("analytics_plot", metric=metric, kind=kind, **period)


TEMPLATES: tuple[Template, ...] = (
    plot,
    plot_if_changed,
    plot_sources_if,
    email_if_engaged,
    task_if_short,
    email_about_visitor,
)
