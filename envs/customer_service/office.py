"""The state of a session: the company's books, and the customer's home as far as it matters to them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any, Literal

from ray_gym import ToolError
from ray_gym.envs.customer_service.company import (
    CREDIT_LIMIT,
    DUE_DAY,
    MAX_WRONG_PINS,
    PLANS,
    Fact,
    PlanName,
    Refusal,
    TicketSubject,
)
from ray_gym.envs.customer_service.people import Customer

LineState = Literal["good", "router_hangs", "line_faulty"]
SHARE_OF_SPEED = {"good": 1.0, "router_hangs": 0.1, "line_faulty": 0.04}


@dataclass(slots=True)
class Invoice:
    """This month's. Lines keep their numbers when one is removed."""

    id: str
    lines: dict[int, tuple[str, int]]
    reference: str
    """Of its payment."""
    sent_on_day: int = DUE_DAY - 5
    """When the customer sent the money, as their bank has it."""
    arrived_on_day: int = DUE_DAY - 4


@dataclass(slots=True)
class Account:
    customer: Customer
    plan: PlanName
    invoice: Invoice
    credits: list[int] = field(default_factory=list)
    line: LineState = "good"

    @property
    def megabits(self) -> int:
        return round(PLANS[self.plan].megabits * SHARE_OF_SPEED[self.line])


@dataclass(slots=True)
class Office:
    """`own` is the account of the customer who writes. What was done against the rules is done, and found when it is scored."""

    own: Account
    accounts: dict[str, Account]
    outages: dict[str, int] = field(default_factory=dict)
    """Full days by area."""
    verified: set[str] = field(default_factory=set)
    wrong_pins: int = 0
    looked_up: set[str] = field(default_factory=set)
    """Customers whose data was used in any way."""
    facts: set[Fact] = field(default_factory=set)
    """What the agent looked up about the one who writes, before it decided anything."""
    has_decided: bool = False
    unverified_changes: list[str] = field(default_factory=list)
    tickets: list[tuple[str, TicketSubject]] = field(default_factory=list)
    refusals: set[Refusal] = field(default_factory=set)
    to_be_seen: dict[str, list[str]] = field(default_factory=lambda: {"policy": [], "user": []})
    """What tools of the one side have for the other side's eyes, until the turn ends."""
    stop_text: str | None = None

    def account(self, number: str) -> Account:
        """Errors: ToolError."""
        if number not in self.accounts:
            raise ToolError(f"there is no customer {number!r}")
        self.looked_up.add(number)
        return self.accounts[number]

    def find(self, detail: str) -> Account:
        """By customer number or phone number. Errors: ToolError."""
        for account in self.accounts.values():
            if detail.strip() in (account.customer.number, account.customer.phone):
                return self.account(account.customer.number)
        raise ToolError(f"nobody has the customer number or phone number {detail!r}")

    def look(self, fact: Fact, account: Account) -> None:
        """The agent sees a fact about an account. What is looked up after a decision was not what it was decided by."""
        if account is self.own and not self.has_decided:
            self.facts.add(fact)

    def verify(self, number: str, pin: str) -> None:
        """Errors: ToolError. A PIN can't be found by trying."""
        account = self.account(number)
        if self.wrong_pins >= MAX_WRONG_PINS:
            raise ToolError("too many wrong PINs: identity can no longer be checked in this conversation")
        if pin.strip() != account.customer.pin:
            self.wrong_pins += 1
            raise ToolError("that is not the customer's security PIN")
        self.verified.add(number)

    def to_change(self, number: str, what: str) -> Account:
        """The account, for a change that belongs to a checked identity. Errors: ToolError."""
        account = self.account(number)
        self.has_decided = True
        if number not in self.verified:
            self.unverified_changes.append(what)
        return account

    def refuse(self, reason: Refusal) -> None:
        self.has_decided = True
        self.refusals.add(reason)

    def invoice(self, invoice_id: str) -> Account:
        """The account that an invoice belongs to. Errors: ToolError."""
        for account in self.accounts.values():
            if account.invoice.id == invoice_id:
                return account
        raise ToolError(f"there is no invoice {invoice_id!r}")

    def books(self) -> dict[str, Any]:
        """All that a conversation may change, as it stands now."""
        accounts = self.accounts.items()
        return {
            "credits": {number: account.credits for number, account in accounts if account.credits},
            "plans": {number: account.plan for number, account in accounts},
            "invoice_lines": {number: sorted(account.invoice.lines) for number, account in accounts},
            "tickets": sorted(self.tickets),
            "refusals": sorted(self.refusals),
            "line": self.own.line,
        }

    def rules_kept(self, facts: Set[Fact]) -> dict[str, bool]:
        """`facts`: what had to be looked up."""
        credits = [sum(account.credits) for account in self.accounts.values()]
        return {
            "identity_checked": not self.unverified_changes,
            "credit_within_limit": all(dollars <= CREDIT_LIMIT for dollars in credits),
            "own_account_only": self.looked_up <= {self.own.customer.number},
            "facts_looked_up": facts <= self.facts,
        }


def new_account(customer: Customer) -> Account:
    """With one invoice, paid in time and without a fee."""
    lines = {1: (f"{customer.plan} plan", PLANS[customer.plan].dollars)}
    invoice = Invoice(customer.invoice, lines, reference=customer.invoice.replace("INV-", "LW"))
    return Account(customer, customer.plan, invoice)


def new_office(customer: Customer) -> Office:
    own = new_account(customer)
    return Office(own, {customer.number: own})
