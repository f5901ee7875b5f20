"""Makes requests about email."""

from __future__ import annotations

import random

from ray_gym.envs.workplace_assistant.clock import format_day
from ray_gym.envs.workplace_assistant.requests.wanted import (
    MOST_ACTIONS,
    Template,
    Wanted,
    call,
    colleague,
    days_ago,
    emails_from,
    find,
    note,
    phrase_day,
    reply,
    somebody_of,
)
from ray_gym.envs.workplace_assistant.rows import Person
from ray_gym.envs.workplace_assistant.workplace import Workplace


def send(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to send an email."""
    person, (subject, body) = colleague(rng, workplace), note(rng)
    request = rng.choice(
        (
            f'Send an email to {person.name} with the subject "{subject}" and the text "{body}"',
            f'Please write to {person.name}. Subject: "{subject}". Text: "{body}"',
            f'{person.name} should get an email from me: subject "{subject}", text "{body}"',
        )
    )
    action = call("email_send", recipient=person.address, subject=subject, body=body)
    return Wanted(request, find(person), (action,))


def answer_latest(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to reply to a person's latest email."""
    person, body = _sender(rng, workplace), reply(rng)
    request = rng.choice(
        (
            f'Reply to the latest email from {person.name} with "{body}"',
            f'Answer what {person.name} wrote to me last: "{body}"',
            f'My answer to the most recent email of {person.name} is "{body}" Please send it as a reply.',
        )
    )
    action = call("email_reply", email_id=emails_from(workplace, person)[0].id, body=body)
    return Wanted(request, (*find(person), call("email_search", query=person.address)), (action,))


def forward_latest_about(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to forward the latest email with a subject. Among emails with the same subject, the last in the
    table is the newest.
    """
    subject, person = rng.choice(list(workplace.emails)).subject, colleague(rng, workplace)
    email = [email for email in workplace.emails if email.subject == subject][-1]
    request = rng.choice(
        (
            f'Forward the latest email with the subject "{subject}" to {person.name}.',
            f'{person.name} should see the newest email called "{subject}". Please forward it.',
            f'Find the most recent email whose subject is "{subject}" and send it on to {person.name}.',
        )
    )
    lookups = (call("email_search", query=subject), *find(person))
    return Wanted(request, lookups, (call("email_forward", email_id=email.id, recipient=person.address),))


def delete_latest(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to delete a person's latest email."""
    person = _sender(rng, workplace)
    request = rng.choice(
        (
            f"Delete the latest email from {person.name}.",
            f"Remove the last email that {person.name} sent me.",
            f"I don't need the most recent email of {person.name} any more, delete it.",
        )
    )
    action = call("email_delete", email_id=emails_from(workplace, person)[0].id)
    return Wanted(request, (*find(person), call("email_search", query=person.address)), (action,))


def delete_since(rng: random.Random, workplace: Workplace) -> Wanted | None:
    """Draws a request to delete all emails that a person has sent since a day. Returns None if the draw would change
    more than `MOST_ACTIONS` rows.
    """
    person, day = _sender(rng, workplace), days_ago(rng, 35)
    found = [email for email in emails_from(workplace, person) if email.sent_at[:10] >= format_day(day)]
    if len(found) > MOST_ACTIONS:
        return None
    since = phrase_day(rng, day)
    request = rng.choice(
        (
            f"Delete all emails that {person.name} has sent me since {since}, that day included.",
            f"Remove everything in my mail that came from {person.name} on {since} or later.",
            f"From {since} on (that day included), I want no emails of {person.name} in my inbox: delete them.",
        )
    )
    search = call("email_search", query=person.address, from_date=format_day(day))
    return Wanted(request, (*find(person), search), tuple(call("email_delete", email_id=email.id) for email in found))


def _sender(rng: random.Random, workplace: Workplace) -> Person:
    return somebody_of(rng, workplace, (email.sender for email in workplace.emails))


TEMPLATES: tuple[Template, ...] = (send, answer_latest, forward_latest_about, delete_latest, delete_since)
