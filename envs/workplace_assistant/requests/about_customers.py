"""Makes requests about customers."""

from __future__ import annotations

import random

from ray_gym.envs.workplace_assistant import words
from ray_gym.envs.workplace_assistant.clock import TODAY, format_day
from ray_gym.envs.workplace_assistant.requests.wanted import (
    MOST_ACTIONS,
    Template,
    Wanted,
    call,
    colleague,
    coming_workday,
    days_ago,
    find,
    phrase_day,
    somebody_of,
)
from ray_gym.envs.workplace_assistant.rows import PRODUCTS, STATUSES, Person
from ray_gym.envs.workplace_assistant.workplace import Workplace


def set_status(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to set the status of a customer."""
    customer = rng.choice(list(workplace.customers))
    status = rng.choice([each for each in STATUSES if each != customer.status])
    request = rng.choice(
        (
            f"Set the status of the customer {customer.name} to {status}.",
            f"{customer.name} is {status} now. Please change it in our customer data.",
            f"In the customer data, {customer.name} should have the status {status}.",
        )
    )
    action = call("customer_update", customer_id=customer.id, field="status", new_value=status)
    return Wanted(request, (call("customer_search", query=customer.name),), (action,))


def hand_over(rng: random.Random, workplace: Workplace) -> Wanted | None:
    """Draws a request to assign a person's customers of a status to another person. Returns None if the draw would
    change more than `MOST_ACTIONS` rows.
    """
    person, status = _holder(rng, workplace), rng.choice(STATUSES)
    other = colleague(rng, workplace, person)
    found = [each for each in workplace.customers if (each.assigned_to, each.status) == (person.address, status)]
    if len(found) > MOST_ACTIONS:
        return None
    request = rng.choice(
        (
            f"Assign all customers of {person.name} with the status {status} to {other.name}.",
            f"{other.name} takes over the customers with status {status} from {person.name}. Please reassign them.",
            f"Whoever is assigned to {person.name} and has the status {status} goes to {other.name}.",
        )
    )
    search = call("customer_search", assigned_to=person.address, status=status)
    actions = (call("customer_update", customer_id=c.id, field="assigned_to", new_value=other.address) for c in found)
    return Wanted(request, (*find(person, other), search), tuple(actions))


def add(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to add a customer."""
    person, product, status = colleague(rng, workplace), rng.choice(PRODUCTS), rng.choice(STATUSES[:3])
    first, second = rng.choice(words.COMPANY_FIRST), rng.choice(words.COMPANY_SECOND)
    name, contact = (
        f"{first} {second} {rng.choice(('North', 'South', 'Group'))}",
        f"hello@{second}-{first}.example".lower(),
    )
    follow_up = coming_workday(rng)
    again = phrase_day(rng, follow_up)
    request = rng.choice(
        (
            f"Add a customer: {name}, contact {contact}, product {product}, status {status}, assigned to {person.name}. "
            f"Last contact was today, follow up on {again}, no notes.",
            f"We have a new customer called {name} ({contact}), interested in {product}; the status is {status}. "
            f"{person.name} is assigned to it, today was the last contact, and the follow-up is on {again}. No notes.",
        )
    )
    action = call(
        "customer_add",
        name=name,
        contact=contact,
        assigned_to=person.address,
        product=product,
        status=status,
        last_contact=format_day(TODAY),
        follow_up=format_day(follow_up),
    )
    return Wanted(request, find(person), (action,))


def delete_lost(rng: random.Random, workplace: Workplace) -> Wanted | None:
    """Draws a request to delete a person's lost customers whose last contact was before a day. Returns None if the draw
    would change more than `MOST_ACTIONS` rows.
    """
    person, day = _holder(rng, workplace), days_ago(rng, 80)
    found = [
        each
        for each in workplace.customers
        if (each.assigned_to, each.status) == (person.address, "Lost") and each.last_contact < format_day(day)
    ]
    if len(found) > MOST_ACTIONS:
        return None
    before = phrase_day(rng, day)
    request = rng.choice(
        (
            f"Delete the Lost customers of {person.name} whose last contact was before {before}.",
            f"Customers of {person.name} with the status Lost and no contact on or after {before} can be deleted.",
            f"Clean up for {person.name}: remove customers that are Lost and were last contacted before {before}.",
        )
    )
    search = call("customer_search", assigned_to=person.address, status="Lost", last_contact_before=format_day(day))
    return Wanted(request, (*find(person), search), tuple(call("customer_delete", customer_id=c.id) for c in found))


def follow_up_if_silent(rng: random.Random, workplace: Workplace) -> Wanted | None:
    """Draws a request to change a customer's follow-up on the condition that the last contact was before a day. If the
    condition does not hold, the request has no actions. Returns None if the draw is the follow-up that the customer
    has.
    """
    customer, day, new = rng.choice(list(workplace.customers)), days_ago(rng, 80), coming_workday(rng)
    if customer.follow_up == format_day(new):
        return None
    before, on = phrase_day(rng, day), phrase_day(rng, new)
    request = rng.choice(
        (
            f"If our last contact with {customer.name} was before {before}, set its follow-up to {on}.",
            f"Look up the customer {customer.name}. Only if the last contact was earlier than {before}, "
            f"change the follow-up date to {on}.",
            f"Change the follow-up of {customer.name} to {on}, unless we have had contact on {before} or later.",
        )
    )
    action = call("customer_update", customer_id=customer.id, field="follow_up", new_value=format_day(new))
    is_silent = customer.last_contact < format_day(day)
    return Wanted(request, (call("customer_search", query=customer.name),), (action,) if is_silent else ())


def _holder(rng: random.Random, workplace: Workplace) -> Person:
    return somebody_of(rng, workplace, (customer.assigned_to for customer in workplace.customers))


TEMPLATES: tuple[Template, ...] = (set_status, hand_over, add, delete_lost, follow_up_if_silent)
