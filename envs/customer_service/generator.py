"""Makes customers, personas and goals without end, from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import get_args

from ray_gym.envs.customer_service.company import DUE_DAY, PlanName, is_cheaper
from ray_gym.envs.customer_service.goals import (
    AnyGoal,
    CreditWithoutOutage,
    EarlyDowngrade,
    FaultyLine,
    FullRefund,
    LatePayment,
    OtherAccount,
    OutageCredit,
    PlanChange,
    SlowConnection,
    WrongInvoice,
)
from ray_gym.envs.customer_service.people import Customer, Detail, Persona
from ray_gym.envs.customer_service.task import CustomerServiceTask

FIRST_NAMES = (
    "Amara",
    "Benedikt",
    "Carmen",
    "Dariusz",
    "Elif",
    "Farid",
    "Greta",
    "Hiroshi",
    "Ines",
    "Jamal",
    "Katya",
    "Leander",
    "Mireille",
    "Nadia",
    "Oskar",
    "Priya",
    "Quentin",
    "Rosalind",
    "Samir",
    "Tamsin",
    "Ulrich",
    "Violeta",
    "Wendell",
    "Ximena",
    "Yusuf",
    "Zelda",
)
LAST_NAMES = (
    "Abernathy",
    "Bianchi",
    "Castellan",
    "Dragomir",
    "Eriksen",
    "Fontaine",
    "Gallagher",
    "Hoshino",
    "Ibarra",
    "Jankowski",
    "Kowalczyk",
    "Lindqvist",
    "Marchetti",
    "Nakamura",
    "Okonkwo",
    "Petrov",
    "Quintero",
    "Rasmussen",
    "Sandoval",
    "Thackeray",
    "Underhill",
    "Vasquez",
    "Whitlock",
    "Yilmaz",
    "Zimmermann",
)
AREAS = (
    "Alder Quay",
    "Birchfield",
    "Copper Hill",
    "Dunmere",
    "East Harrow",
    "Fenwick",
    "Gull Point",
    "Hazelbrook",
    "Ironbridge Row",
    "Juniper Vale",
)
OCCUPATIONS = (
    "baker",
    "bus driver",
    "dental nurse",
    "freelance translator",
    "gardener",
    "history teacher",
    "illustrator",
    "locksmith",
    "night porter",
    "pensioner who was a sailor",
    "physics student",
    "piano tuner",
    "tax adviser",
    "veterinarian",
)
MANNERS = (
    "brisk: hardly a word too many",
    "chatty, and easily carried away",
    "cheerful and patient",
    "grumpy, but fair",
    "impatient: everything takes too long",
    "formal and very polite",
    "nervous about anything technical",
    "suspicious of support lines",
    "tired after a long day",
    "warm, a little absent-minded",
)
SITUATIONS = (
    "you write from your phone on a train",
    "you have guests in an hour",
    "you write during your lunch break",
    "you moved in not long ago",
    "your children are doing homework in the next room",
    "you look after your father, who lives with you",
    "you have twenty minutes before you must leave",
    "you are at home with a cold",
    "you have tried to call twice today and hung up each time",
    "you are up early and drink your first coffee",
)
SYMPTOMS = (
    "films stop every few seconds",
    "a page takes half a minute to open",
    "my video calls freeze all day",
    "a download that took minutes takes hours now",
    "almost nothing gets through since the storm",
    "pages hardly ever load",
    "it drops all the time",
    "the connection is as good as dead since this morning",
)
"""Symptoms of a router that hangs as well as of a faulty line."""
EXCUSES = (
    "I was hardly ever at home",
    "a friend pays much less elsewhere",
    "I have only just noticed how much I pay",
    "I lost my job and need the money",
    "the internet is not what I had hoped for",
)
RELATIONS = (
    "my neighbour",
    "my former husband",
    "my sister",
    "my tenant",
    "a colleague of mine",
    "my grown-up son",
)
PLAN_NAMES: tuple[PlanName, ...] = get_args(PlanName)
MOST_DAYS = 8
"""Largest number of days without internet that is drawn. Beyond it, the credit stays the same."""


def generate_task(rng: random.Random) -> CustomerServiceTask:
    """Draws a task: a customer, a persona, and a goal of any kind."""
    customer = _customer(rng)
    kind = rng.choice(list(KINDS))
    customer, goal = KINDS[kind](rng, customer)
    return CustomerServiceTask(customer=customer, persona=_persona(rng), goal=goal)


def _customer(rng: random.Random) -> Customer:
    return Customer(
        name=f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}",
        number=f"C{rng.randrange(10**6):06d}",
        phone=f"555-{rng.randrange(1000):03d}-{rng.randrange(10**4):04d}",
        pin=f"{rng.randrange(10**4):04d}",
        area=rng.choice(AREAS),
        plan=rng.choice(PLAN_NAMES),
        months_left=rng.choice((0, 0, rng.randint(1, 24))),
        invoice=f"INV-{rng.randrange(10**6):06d}",
    )


def _persona(rng: random.Random) -> Persona:
    forgotten: list[Detail] = ["customer number"] if rng.random() < 0.6 else []
    if rng.random() < 0.4:
        forgotten.append("security PIN")
    return Persona(
        occupation=rng.choice(OCCUPATIONS),
        manner=rng.choice(MANNERS),
        situation=rng.choice(SITUATIONS),
        forgotten=tuple(forgotten),
    )


GoalMaker = Callable[[random.Random, Customer], tuple[Customer, AnyGoal]]
"""Function that draws a goal for a customer. It returns the customer, changed where the goal requires it, and the goal.
"""


def _plan_change(rng: random.Random, customer: Customer) -> tuple[Customer, AnyGoal]:
    plan = rng.choice([plan for plan in PLAN_NAMES if plan != customer.plan])
    if is_cheaper(plan, customer.plan):
        customer = customer.model_copy(update={"months_left": 0})
    return customer, PlanChange(plan=plan)


def _early_downgrade(rng: random.Random, customer: Customer) -> tuple[Customer, AnyGoal]:
    cheaper, dearer = sorted(rng.sample(range(len(PLAN_NAMES)), 2))
    bound = {"plan": PLAN_NAMES[dearer], "months_left": rng.randint(1, 24)}
    return customer.model_copy(update=bound), EarlyDowngrade(plan=PLAN_NAMES[cheaper])


def _outage_credit(rng: random.Random, customer: Customer) -> tuple[Customer, AnyGoal]:
    days = rng.randint(1, MOST_DAYS)
    others = [told for told in range(1, MOST_DAYS + 1) if 1 <= abs(told - days) <= 2]
    return customer, OutageCredit(days=days, days_told=days if rng.random() < 0.5 else rng.choice(others))


def _wrong_invoice(rng: random.Random, customer: Customer) -> tuple[Customer, AnyGoal]:
    sent = rng.randint(DUE_DAY - 6, DUE_DAY)
    return customer, WrongInvoice(
        sent_on_day=sent, arrived_on_day=rng.randint(sent, DUE_DAY), reference=_reference(rng)
    )


def _late_payment(rng: random.Random, customer: Customer) -> tuple[Customer, AnyGoal]:
    sent = rng.randint(DUE_DAY - 6, DUE_DAY)
    arrived = rng.randint(DUE_DAY + 1, DUE_DAY + 4)
    return customer, LatePayment(sent_on_day=sent, arrived_on_day=arrived, reference=_reference(rng))


def _reference(rng: random.Random) -> str:
    letters = "".join(rng.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=2))
    return f"{letters}{rng.randrange(10**6):06d}"


def _other_account(rng: random.Random, customer: Customer) -> tuple[Customer, AnyGoal]:
    other = _customer(rng)
    while OtherAccount.clash(other, customer):
        other = _customer(rng)
    return customer, OtherAccount(other=other, relation=rng.choice(RELATIONS))


KINDS: Mapping[str, GoalMaker] = {
    "outage_credit": _outage_credit,
    "credit_without_outage": lambda rng, customer: (
        customer,
        CreditWithoutOutage(days_told=rng.randint(1, MOST_DAYS)),
    ),
    "slow_connection": lambda rng, customer: (customer, SlowConnection(symptom=rng.choice(SYMPTOMS))),
    "faulty_line": lambda rng, customer: (customer, FaultyLine(symptom=rng.choice(SYMPTOMS))),
    "wrong_invoice": _wrong_invoice,
    "late_payment": _late_payment,
    "plan_change": _plan_change,
    "early_downgrade": _early_downgrade,
    "full_refund": lambda rng, customer: (
        customer,
        FullRefund(months=rng.randint(2, 24), excuse=rng.choice(EXCUSES)),
    ),
    "other_account": _other_account,
}
