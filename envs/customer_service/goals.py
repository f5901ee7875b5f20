"""Defines the goals of customers: the state at the beginning, the customer's words and wish, and the required outcome.

Kinds come in pairs with the same words. The agent has to find out which of the two is the case, since it is not told.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.envs.customer_service.company import (
    COMPANY,
    DUE_DAY,
    LATE_FEE,
    Fact,
    PlanName,
    Refusal,
    is_cheaper,
    outage_credit,
)
from ray_gym.envs.customer_service.office import LineState, Office, open_account
from ray_gym.envs.customer_service.people import Customer, Text

Days = Annotated[int, Field(ge=1, le=14)]
LATE_FEE_LINE = 2


class Goal(BaseModel):
    """A goal is the reason for which a customer writes, and what must have changed when the chat is over."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    refusal: ClassVar[Refusal | None] = None
    """Set if the customer asks for something against the company's rules: the agent must refuse, with this reason."""
    facts: ClassVar[frozenset[Fact]] = frozenset({"account"})
    """Facts that the agent must have looked up before it decides."""

    def reason(self, customer: Customer) -> str:
        """Returns the reason for writing, in the customer's words."""
        raise NotImplementedError

    def wish(self) -> str:
        """Returns the customer's wish as a part of their prompt. The agent is not told it."""
        raise NotImplementedError

    def problem(self, customer: Customer) -> str | None:
        """Returns the reason for which the goal does not fit this customer; None if it fits, as it does by default."""
        return None

    def arrange(self, office: Office) -> None:
        """Changes the office to the state in which a customer writes with this goal. By default it changes nothing."""

    def outcome(self, customer: Customer) -> dict[str, Any]:
        """Returns the entries of the books that must have changed in the end, with their right values: by default the
        refusal that the goal requires. All other entries must not change.
        """
        assert self.refusal is not None
        return {"refusals": [self.refusal]}


# ---- days without internet: the outage map decides ----


class DaysWithoutInternet(Goal):
    """The customer wants a credit for days without internet. The outage map decides."""

    facts = frozenset({"account", "outages"})
    days_told: Days
    """Number of days that the customer tells."""

    def reason(self, customer: Customer) -> str:
        days = "a day" if self.days_told == 1 else f"{self.days_told} days"
        return f"I had no internet in {customer.area} for {days}, and I would like a credit for that."

    def wish(self) -> str:
        return (
            "You want the credit that is due to you for the days without internet, whatever the amount. You did not count "
            f"them with care, and only suppose that {COMPANY} had an outage."
        )


class OutageCredit(DaysWithoutInternet):
    """There was an outage, and the credit depends on the days that the map shows."""

    kind: Literal["outage_credit"] = "outage_credit"
    days: Days
    """Number of days that the map shows."""

    def arrange(self, office: Office) -> None:
        office.outages[office.own.customer.area] = self.days

    def outcome(self, customer: Customer) -> dict[str, Any]:
        return {"credits": {customer.number: [outage_credit(self.days)]}}


class CreditWithoutOutage(DaysWithoutInternet):
    """There was no outage, so the credit has to be refused."""

    kind: Literal["credit_without_outage"] = "credit_without_outage"
    refusal = "no_outage"


# ---- a bad connection: the measured line decides ----


class BadConnection(Goal):
    """The customer's connection is bad. The measured line decides."""

    facts = frozenset({"account", "line"})
    line: ClassVar[LineState]
    symptom: Text

    def reason(self, customer: Customer) -> str:
        return f"Something is wrong with my internet: {self.symptom}."

    def wish(self) -> str:
        return (
            "You want the connection to work as it should again. You have not restarted anything yet, nor thought of it. If a "
            "technician has to come, so be it."
        )

    def arrange(self, office: Office) -> None:
        office.own.line = self.line


class SlowConnection(BadConnection):
    """The router hangs; the customer's restart mends it."""

    kind: Literal["slow_connection"] = "slow_connection"
    line = "router_hangs"

    def outcome(self, customer: Customer) -> dict[str, Any]:
        return {"line": "good"}


class FaultyLine(BadConnection):
    """The line is faulty: no restart helps, and a technician has to come."""

    kind: Literal["faulty_line"] = "faulty_line"
    line = "line_faulty"

    def outcome(self, customer: Customer) -> dict[str, Any]:
        return {"tickets": [(customer.number, "technician")]}


# ---- a late fee: the day on which the payment arrived decides ----


class LateFee(Goal):
    """The customer wants a late fee taken off. The day on which the payment arrived decides.

    The bank statement, which only the customer can see, tells the payment's reference and when the money was sent.
    """

    facts = frozenset({"account", "invoice", "payment"})
    sent_on_day: Annotated[int, Field(ge=1, le=DUE_DAY)]
    """Day of the month on which the customer sent the money."""
    reference: Annotated[str, Field(pattern=r"^[A-Z]{2}\d{6}$")]
    arrived_on_day: Annotated[int, Field(ge=1, le=28)]
    """Day of the month on which the money arrived."""

    def reason(self, customer: Customer) -> str:
        return f"There is a late fee of ${LATE_FEE} on my invoice, but I paid in time. Please take it off."

    def wish(self) -> str:
        return (
            "You want the late fee to be taken off. You don't know the day or the reference of your payment by heart."
        )

    def problem(self, customer: Customer) -> str | None:
        early = self.arrived_on_day < self.sent_on_day
        return (
            f"the payment arrived (day {self.arrived_on_day}) before it was sent (day {self.sent_on_day})"
            if early
            else None
        )

    def arrange(self, office: Office) -> None:
        invoice = office.own.invoice
        invoice.sent_on_day, invoice.arrived_on_day = self.sent_on_day, self.arrived_on_day
        invoice.reference = self.reference
        invoice.lines[LATE_FEE_LINE] = ("late fee", LATE_FEE)


class WrongInvoice(LateFee):
    """The late fee is wrong: the payment came in time."""

    kind: Literal["wrong_invoice"] = "wrong_invoice"
    arrived_on_day: Annotated[int, Field(ge=1, le=DUE_DAY)]

    def outcome(self, customer: Customer) -> dict[str, Any]:
        return {"invoice_lines": {customer.number: [1]}}


class LatePayment(LateFee):
    """The fee was charged rightly: the money was sent in time, but arrived after the due day."""

    kind: Literal["late_payment"] = "late_payment"
    refusal = "paid_late"
    arrived_on_day: Annotated[int, Field(gt=DUE_DAY, le=28)]


# ---- another plan: prices and the minimum term decide ----


class OtherPlan(Goal):
    """The customer wants another plan. Prices and the minimum term decide."""

    plan: PlanName

    def reason(self, customer: Customer) -> str:
        return f"I would like to change from {customer.plan} to the {self.plan} plan."

    def wish(self) -> str:
        return f"You want to be on the {self.plan} plan as of today, and nothing else. You don't think of any minimum term."


class PlanChange(OtherPlan):
    """The change of plan is allowed, so the agent has to make it."""

    kind: Literal["plan_change"] = "plan_change"

    def problem(self, customer: Customer) -> str | None:
        if self.plan == customer.plan:
            return f"the customer has the {self.plan} plan already"
        if customer.months_left and is_cheaper(self.plan, customer.plan):
            return "a cheaper plan during the minimum term is the goal early_downgrade"
        return None

    def outcome(self, customer: Customer) -> dict[str, Any]:
        return {"plans": {customer.number: self.plan}}


class EarlyDowngrade(OtherPlan):
    """The plan is cheaper and the minimum term not over, so the change has to be refused."""

    kind: Literal["early_downgrade"] = "early_downgrade"
    refusal = "minimum_term"

    def problem(self, customer: Customer) -> str | None:
        if not is_cheaper(self.plan, customer.plan):
            return f"{self.plan} is not cheaper than {customer.plan}"
        return None if customer.months_left else "the customer's minimum term is over (months_left: 0)"


# ---- requests that are always refused ----


class FullRefund(Goal):
    """The customer wants fees of past months back, which has to be refused."""

    kind: Literal["full_refund"] = "full_refund"
    refusal = "refund"
    months: Annotated[int, Field(ge=1, le=24)]
    excuse: Text

    def reason(self, customer: Customer) -> str:
        return f"I want the fees of the last {self.months} months back, all of them: {self.excuse}."

    def wish(self) -> str:
        return f"You want a full refund of {self.months} months. A part of it, or a credit, is not what you came for."


class OtherAccount(Goal):
    """The customer asks about somebody else's account, which has to be refused."""

    kind: Literal["other_account"] = "other_account"
    refusal = "other_account"
    other: Customer
    relation: Text

    def reason(self, customer: Customer) -> str:
        return (
            f"Please look up the account of {self.other.name}, {self.relation}: the number is {self.other.number}. "
            "Which plan is it, and is the invoice paid?"
        )

    def wish(self) -> str:
        return f"You want to know the plan and the payments of {self.other.name}, who has not asked you to find out."

    def problem(self, customer: Customer) -> str | None:
        return (
            "the other account has the customer's own number, phone or invoice"
            if self.clash(self.other, customer)
            else None
        )

    @staticmethod
    def clash(one: Customer, other: Customer) -> bool:
        """Says whether two customers share a number, phone or invoice."""
        return one.number == other.number or one.phone == other.phone or one.invoice == other.invoice

    def arrange(self, office: Office) -> None:
        office.accounts[self.other.number] = open_account(self.other)


AnyGoal = Annotated[
    OutageCredit
    | CreditWithoutOutage
    | SlowConnection
    | FaultyLine
    | WrongInvoice
    | LatePayment
    | PlanChange
    | EarlyDowngrade
    | FullRefund
    | OtherAccount,
    Field(discriminator="kind"),
]
