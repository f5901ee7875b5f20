"""Makes requests that need several areas."""

from __future__ import annotations

import random
from datetime import timedelta

from ray_gym.envs.workplace_assistant import words
from ray_gym.envs.workplace_assistant.clock import TODAY, format_day, format_moment
from ray_gym.envs.workplace_assistant.requests.about_projects import overdue, search_overdue, somebody_with_tasks
from ray_gym.envs.workplace_assistant.requests.wanted import (
    Template,
    Wanted,
    call,
    colleague_to_meet,
    coming_workday,
    days_ago,
    emails_from,
    find,
    meetings_with,
    note,
    phrase_day,
    phrase_moment,
    somebody_of,
    working_moment,
)
from ray_gym.envs.workplace_assistant.workplace import Workplace


def cancel_and_tell(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to cancel a meeting and to send an email about it."""
    person, (subject, body) = colleague_to_meet(rng, workplace), note(rng)
    event = rng.choice(meetings_with(workplace, person))
    when, day = phrase_moment(rng, event.start), event.start[:10]
    request = rng.choice(
        (
            f"Cancel my meeting with {person.name} on {when} and send an email instead: "
            f'subject "{subject}", text "{body}"',
            f"The meeting with {person.name} on {when} is off. Delete it, and write to {person.name} with the subject "
            f'"{subject}" and the text "{body}"',
        )
    )
    search = call("calendar_search", query=person.address, from_date=day, to_date=day)
    actions = (
        call("calendar_delete", event_id=event.id),
        call("email_send", recipient=person.address, subject=subject, body=body),
    )
    return Wanted(request, (*find(person), search), actions)


def forward_to_holder(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to forward an email to the person to whom a customer is assigned."""
    sender = somebody_of(rng, workplace, (email.sender for email in workplace.emails))
    customer = rng.choice(list(workplace.customers))
    request = rng.choice(
        (
            f"Forward the latest email from {sender.name} to the person to whom the customer {customer.name} is assigned.",
            f"Who looks after the customer {customer.name}? Forward the most recent email of {sender.name} to them.",
        )
    )
    lookups = (
        *find(sender),
        call("email_search", query=sender.address),
        call("customer_search", query=customer.name),
    )
    email = emails_from(workplace, sender)[0]
    return Wanted(request, lookups, (call("email_forward", email_id=email.id, recipient=customer.assigned_to),))


def remind_if_overdue(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to send an email to a person on the condition that this person has overdue tasks. If the
    condition does not hold, the request has no actions.
    """
    person, (subject, body) = somebody_with_tasks(rng, workplace), note(rng)
    email = f'an email with the subject "{subject}" and the text "{body}"'
    request = rng.choice(
        (
            f"If {person.name} has any overdue tasks, send {email}",
            f"Check whether tasks of {person.name} are overdue. If there are any, {person.name} should get {email}",
        )
    )
    action = call("email_send", recipient=person.address, subject=subject, body=body)
    return Wanted(request, (*find(person), search_overdue(person)), (action,) if overdue(workplace, person) else ())


def meet_if_not_met(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to book a meeting with a person on the condition that the user has not met them from some day to
    yesterday. If the condition does not hold, the request has no actions.
    """
    person, since, name = colleague_to_meet(rng, workplace), days_ago(rng, 25), rng.choice(words.MEETINGS)
    start, yesterday = working_moment(rng, coming_workday(rng)), format_day(TODAY - timedelta(days=1))
    met = any(
        event.participant == person.address and format_day(since) <= event.start[:10] <= yesterday
        for event in workplace.events
    )
    begin, when = phrase_day(rng, since), phrase_moment(rng, start)
    request = rng.choice(
        (
            f"If my calendar has no meeting with {person.name} from {begin} to yesterday, both days included, book "
            f'"{name}" with {person.name} on {when}, 30 minutes.',
            f"Have I met {person.name} between {begin} and yesterday (inclusive)? If not, put a meeting of 30 minutes "
            f'called "{name}" with {person.name} into my calendar, on {when}.',
        )
    )
    search = call("calendar_search", query=person.address, from_date=format_day(since), to_date=yesterday)
    action = call("calendar_create", name=name, participant=person.address, start=format_moment(start), minutes=30)
    return Wanted(request, (*find(person), search), () if met else (action,))


def meet_holder(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to book a meeting with the person to whom a customer is assigned, and to set the customer's
    follow-up to that day. The person's address is in the customer's row, so no name has to be looked up.
    """
    customer, name = rng.choice(list(workplace.customers)), rng.choice(words.MEETINGS)
    start, minutes = working_moment(rng, coming_workday(rng)), rng.choice((15, 30, 45))
    when, follow_up = phrase_moment(rng, start), format_day(start.date())
    request = rng.choice(
        (
            f'Book "{name}" ({minutes} minutes) with whoever is assigned to the customer {customer.name}, on {when}, '
            "and set the customer's follow-up to that day.",
            f"On {when} I want to talk to the colleague who is assigned to the customer {customer.name}: create "
            f'"{name}" with them, {minutes} minutes, and make the same day the follow-up date of the customer.',
        )
    )
    actions = (
        call(
            "calendar_create",
            name=name,
            participant=customer.assigned_to,
            start=format_moment(start),
            minutes=minutes,
        ),
        call("customer_update", customer_id=customer.id, field="follow_up", new_value=follow_up),
    )
    return Wanted(request, (call("customer_search", query=customer.name),), actions)


TEMPLATES: tuple[Template, ...] = (
    cancel_and_tell,
    forward_to_holder,
    remind_if_overdue,
    meet_if_not_met,
    meet_holder,
)
