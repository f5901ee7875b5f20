"""What customers write for. Each kind knows how the state begins, what the customer says and wants, and what must become of it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from envs.customer_service.company import COMPANY, DUE_DAY, LATE_FEE, PlanName, Refusal, is_cheaper, outage_credit
from envs.customer_service.office import Office, new_account
from envs.customer_service.people import Customer, Text

Days = Annotated[int, Field(ge=1, le=14)]
LATE_FEE_LINE = 2


class Goal(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    refusal: ClassVar[Refusal | None] = None
    """Set if what the customer asks for lies outside the company's rules: the agent must refuse it, with this reason."""

    def reason(self, customer: Customer) -> str:
        """Why they write, in their words."""
        raise NotImplementedError

    def wish(self) -> str:
        """What they are after, told to the customer's side alone."""
        raise NotImplementedError

    def problem(self, customer: Customer) -> str | None:
        """Why this customer can't have this goal, if so."""
        return None

    def arrange(self, office: Office) -> None:
        """Make the state one in which somebody would write with this goal."""

    def outcome(self, customer: Customer) -> dict[str, Any]:
        """The entries of the books that must have changed in the end; all others must not."""
        assert self.refusal is not None
        return {"refusals": [self.refusal]}


class OutageCredit(Goal):
    kind: Literal["outage_credit"] = "outage_credit"
    days: Days

    def reason(self, customer: Customer) -> str:
        return f"My internet in {customer.area} was down for {_days(self.days)}, and I would like a credit for that."

    def wish(self) -> str:
        return "You want the credit that is due to you for the days without internet, whatever the amount."

    def arrange(self, office: Office) -> None:
        office.outages[office.own.customer.area] = self.days

    def outcome(self, customer: Customer) -> dict[str, Any]:
        return {"credits": {customer.number: [outage_credit(self.days)]}}


class SlowConnection(Goal):
    """The router hangs; the customer's restart mends it."""

    kind: Literal["slow_connection"] = "slow_connection"
    symptom: Text

    def reason(self, customer: Customer) -> str:
        return f"My internet has been terribly slow: {self.symptom}."

    def wish(self) -> str:
        return (
            "You want the connection to be fast again, today. You have not restarted anything yet, nor thought of it."
        )

    def arrange(self, office: Office) -> None:
        office.own.line = "router_hangs"

    def outcome(self, customer: Customer) -> dict[str, Any]:
        return {"line": "good"}


class FaultyLine(Goal):
    """No restart helps; a technician has to come."""

    kind: Literal["faulty_line"] = "faulty_line"
    symptom: Text

    def reason(self, customer: Customer) -> str:
        return f"Something is wrong with my connection: {self.symptom}."

    def wish(self) -> str:
        return "You want somebody to see to it that the connection works again. If a technician has to come, so be it."

    def arrange(self, office: Office) -> None:
        office.own.line = "line_faulty"

    def outcome(self, customer: Customer) -> dict[str, Any]:
        return {"tickets": [(customer.number, "technician")]}


class WrongInvoice(Goal):
    """A late fee, though the payment came in time: the bank statement, which only the customer can see, has its reference."""

    kind: Literal["wrong_invoice"] = "wrong_invoice"
    paid_on_day: Annotated[int, Field(ge=1, le=DUE_DAY)]
    reference: Annotated[str, Field(pattern=r"^[A-Z]{2}\d{6}$")]

    def reason(self, customer: Customer) -> str:
        return f"There is a late fee of ${LATE_FEE} on my invoice, but I paid in time."

    def wish(self) -> str:
        return (
            "You want the late fee to be taken off. You don't know the day or the reference of your payment by heart."
        )

    def arrange(self, office: Office) -> None:
        invoice = office.own.invoice
        invoice.paid_on_day, invoice.reference = self.paid_on_day, self.reference
        invoice.lines[LATE_FEE_LINE] = ("late fee", LATE_FEE)

    def outcome(self, customer: Customer) -> dict[str, Any]:
        return {"invoice_lines": {customer.number: [1]}}


class PlanChange(Goal):
    kind: Literal["plan_change"] = "plan_change"
    plan: PlanName

    def reason(self, customer: Customer) -> str:
        return f"I would like to change from {customer.plan} to the {self.plan} plan."

    def wish(self) -> str:
        return f"You want to be on the {self.plan} plan, and nothing else."

    def problem(self, customer: Customer) -> str | None:
        if self.plan == customer.plan:
            return f"the customer has the {self.plan} plan already"
        if customer.months_left and is_cheaper(self.plan, customer.plan):
            return "a cheaper plan during the minimum term is the goal early_downgrade"
        return None

    def outcome(self, customer: Customer) -> dict[str, Any]:
        return {"plans": {customer.number: self.plan}}


class EarlyDowngrade(Goal):
    kind: Literal["early_downgrade"] = "early_downgrade"
    refusal = "minimum_term"
    plan: PlanName

    def reason(self, customer: Customer) -> str:
        return f"{customer.plan} is too expensive for me, please put me on the {self.plan} plan right away."

    def wish(self) -> str:
        return f"You want to pay less and be on the {self.plan} plan as of today. You have forgotten about any minimum term."

    def problem(self, customer: Customer) -> str | None:
        if not is_cheaper(self.plan, customer.plan):
            return f"{self.plan} is not cheaper than {customer.plan}"
        return None if customer.months_left else "the customer's minimum term is over (months_left: 0)"


class FullRefund(Goal):
    kind: Literal["full_refund"] = "full_refund"
    refusal = "refund"
    months: Annotated[int, Field(ge=1, le=24)]
    excuse: Text

    def reason(self, customer: Customer) -> str:
        return f"I want the fees of the last {self.months} months back, all of them: {self.excuse}."

    def wish(self) -> str:
        return f"You want a full refund of {self.months} months. A part of it, or a credit, is not what you came for."


class OtherAccount(Goal):
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
        same = self.other.number == customer.number or self.other.phone == customer.phone
        return "the other account has the customer's own number or phone" if same else None

    def arrange(self, office: Office) -> None:
        office.accounts[self.other.number] = new_account(self.other)


class CreditWithoutOutage(Goal):
    kind: Literal["credit_without_outage"] = "credit_without_outage"
    refusal = "no_outage"
    days: Days

    def reason(self, customer: Customer) -> str:
        return f"I was without internet for {_days(self.days)}. I want a credit for the outage in {customer.area}."

    def wish(self) -> str:
        return f"You want a credit. You were away for those days, and only suppose that {COMPANY} had an outage."


AnyGoal = Annotated[
    OutageCredit
    | SlowConnection
    | FaultyLine
    | WrongInvoice
    | PlanChange
    | EarlyDowngrade
    | FullRefund
    | OtherAccount
    | CreditWithoutOutage,
    Field(discriminator="kind"),
]


def _days(number: int) -> str:
    return "a day" if number == 1 else f"{number} days"
