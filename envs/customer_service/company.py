"""Describes Larkwave, an internet provider that does not exist: its plans, its amounts and the rules of its support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

COMPANY = "Larkwave"
PlanName = Literal["Basic", "Family", "Studio"]
Refusal = Literal["refund", "other_account", "minimum_term", "no_outage", "paid_late"]
TicketSubject = Literal["technician", "billing", "other"]
Fact = Literal["account", "outages", "line", "invoice", "payment"]
"""Facts that the agent can look up about the customer who writes."""


@dataclass(frozen=True, slots=True)
class InternetPlan:
    """A plan is a connection of some speed at a monthly price."""

    megabits: int
    """Speed in megabits per second."""
    dollars: int
    """Price in dollars a month."""


PLANS: Mapping[PlanName, InternetPlan] = {
    "Basic": InternetPlan(50, 30),
    "Family": InternetPlan(200, 45),
    "Studio": InternetPlan(1000, 65),
}
CREDIT_PER_DAY = 4
"""Dollars of credit for each full day of an outage."""
CREDIT_LIMIT = 30
"""Largest credit for an outage, in dollars."""
LATE_FEE = 8
"""Late fee in dollars."""
DUE_DAY = 15
"""Day of the month on which invoices are due."""
MAX_WRONG_PINS = 3


def is_cheaper(plan: PlanName, than: PlanName) -> bool:
    """Says whether a plan is cheaper than another one."""
    return PLANS[plan].dollars < PLANS[than].dollars


def outage_credit(days: int) -> int:
    """Returns the credit in dollars for a number of full days of an outage, at most `CREDIT_LIMIT`."""
    return min(days * CREDIT_PER_DAY, CREDIT_LIMIT)


_PLAN_LIST = ", ".join(f"{name} ({plan.megabits} Mbit/s, ${plan.dollars} a month)" for name, plan in PLANS.items())

HOUSE_RULES = f"""\
- Plans: {_PLAN_LIST}.
- Facts: begin with look_up_customer, whatever the customer wants. Look up all that these rules name before you change or refuse \
anything: customers can be wrong.
- Identity: before you change anything (credit, plan, invoice, ticket), check the customer's security PIN with verify_identity.
- Privacy: look up nobody but the customer you are talking to, and say nothing about anyone else's account. \
Refuse such a request (record_refusal: other_account).
- Outages: for each full day of an outage that check_outages shows for the customer's area, give a credit of \
${CREDIT_PER_DAY}, in one sum of at most ${CREDIT_LIMIT}. The map counts, not what the customer says. If it shows none, refuse \
(record_refusal: no_outage).
- Slow or broken connection: look at it with check_line. If the router hangs, ask the customer to restart it, and check \
again. If the line itself is faulty, a restart does not help: open a ticket with the subject technician. Otherwise open no ticket.
- Late fee (${LATE_FEE}): look at the invoice with show_invoice, ask the customer for the payment's reference, and look at the \
payment with find_payment. If it arrived by the day it was due, the fee is wrong: remove its line from the invoice. If it arrived \
later, the fee stays, whenever the customer paid: refuse (record_refusal: paid_late).
- Plan changes: a dearer plan at any time; a cheaper one only if no months of the minimum term are left, else refuse \
(record_refusal: minimum_term).
- Refunds: monthly fees are never paid back, whatever the reason. Refuse (record_refusal: refund).
- When you refuse, say so and why, kindly, and call record_refusal. Promise nothing that you can't do."""
