"""Holds the state of an episode: the company's books, and the parts of the customer's home that matter."""

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
"""Share of the plan's speed that a line in each state has."""


@dataclass(slots=True)
class Invoice:
    """An invoice is this month's for one customer. Its lines keep their numbers when one is removed."""

    id: str
    lines: dict[int, tuple[str, int]]
    """Text and dollars of each line, by its number."""
    reference: str
    """Reference of the payment of the invoice."""
    sent_on_day: int = DUE_DAY - 5
    """Day of the month on which the customer sent the money, as their bank has it."""
    arrived_on_day: int = DUE_DAY - 4
    """Day of the month on which the money arrived."""


@dataclass(slots=True)
class Account:
    """An account holds the company's data about a customer, and the state of the customer's line."""

    customer: Customer
    plan: PlanName
    invoice: Invoice
    credits: list[int] = field(default_factory=list)
    """Credits that were given, in dollars."""
    line: LineState = "good"

    @property
    def megabits(self) -> int:
        """Returns the present speed of the line, in megabits per second."""
        return round(PLANS[self.plan].megabits * SHARE_OF_SPEED[self.line])


@dataclass(slots=True)
class Office:
    """The state of an episode is the company's books, with the agent's lookups and actions. `own` is the account of
    the customer who writes.

    Actions against the rules are carried out, and lower the score.
    """

    own: Account
    """Account of the customer who writes."""
    accounts: dict[str, Account]
    """Accounts by customer number."""
    outages: dict[str, int] = field(default_factory=dict)
    """Number of full days of an outage, by area."""
    verified: set[str] = field(default_factory=set)
    """Numbers of customers whose PIN was checked."""
    wrong_pins: int = 0
    """Number of wrong PINs so far."""
    looked_up: set[str] = field(default_factory=set)
    """Numbers of customers whose data was used in any way."""
    facts: set[Fact] = field(default_factory=set)
    """Facts about `own` that the agent looked up before it decided anything."""
    has_decided: bool = False
    """True once the agent has changed or refused anything."""
    unverified_changes: list[str] = field(default_factory=list)
    """Changes that were made without a checked PIN."""
    tickets: list[tuple[str, TicketSubject]] = field(default_factory=list)
    """Customer number and subject of each ticket."""
    refusals: set[Refusal] = field(default_factory=set)
    """Reasons for which the agent refused a request."""
    notices: dict[str, list[str]] = field(default_factory=lambda: {"policy": [], "user": []})
    """Notices that tools have for a side to see, by the side's name, until the turn ends."""
    stop_text: str | None = None
    """Text with which the customer ends the chat; None if there is none."""

    def account(self, number: str) -> Account:
        """Returns the account of a customer number, and counts it as looked up. Errors: ToolError if there is none."""
        if number not in self.accounts:
            raise ToolError(f"there is no customer {number!r}")
        self.looked_up.add(number)
        return self.accounts[number]

    def find(self, detail: str) -> Account:
        """Returns the account with a customer number or phone number, and counts it as looked up. Errors: ToolError if
        there is none.
        """
        for account in self.accounts.values():
            if detail.strip() in (account.customer.number, account.customer.phone):
                return self.account(account.customer.number)
        raise ToolError(f"nobody has the customer number or phone number {detail!r}")

    def look(self, fact: Fact, account: Account) -> None:
        """Records that the agent saw a fact about an account.

        Only facts about `own` before the agent's first decision count, because others did not lead to the decision.
        """
        if account is self.own and not self.has_decided:
            self.facts.add(fact)

    def verify(self, number: str, pin: str) -> None:
        """Checks a customer's PIN, and records that it was right. Counts the account as looked up.

        Errors: ToolError for a wrong PIN, for any PIN after `MAX_WRONG_PINS` wrong ones, and for an unknown number.
        """
        account = self.account(number)
        if self.wrong_pins >= MAX_WRONG_PINS:
            raise ToolError("too many wrong PINs: identity can no longer be checked in this conversation")
        if pin.strip() != account.customer.pin:
            self.wrong_pins += 1
            raise ToolError("that is not the customer's security PIN")
        self.verified.add(number)

    def account_to_change(self, number: str, what: str) -> Account:
        """Returns the account of a customer number for a change, which counts as the agent's decision. Counts the
        account as looked up, and records the change as unverified if no PIN was checked. `what`: name of the change.
        Errors: ToolError if there is no such customer.
        """
        account = self.account(number)
        self.has_decided = True
        if number not in self.verified:
            self.unverified_changes.append(what)
        return account

    def refuse(self, reason: Refusal) -> None:
        """Records that the agent refused a request for this reason, which counts as a decision."""
        self.has_decided = True
        self.refusals.add(reason)

    def invoice(self, invoice_id: str) -> Account:
        """Returns the account that an invoice belongs to, and does not count it as looked up. Errors: ToolError if
        there is no such invoice.
        """
        for account in self.accounts.values():
            if account.invoice.id == invoice_id:
                return account
        raise ToolError(f"there is no invoice {invoice_id!r}")

    def books(self) -> dict[str, Any]:
        """Returns everything that a conversation may change, as it is now, by name of the entry. The lists of credits
        are the accounts' own, and no copies.
        """
        accounts = self.accounts.items()
        return {
            "credits": {number: account.credits for number, account in accounts if account.credits},
            "plans": {number: account.plan for number, account in accounts},
            "invoice_lines": {number: sorted(account.invoice.lines) for number, account in accounts},
            "tickets": sorted(self.tickets),
            "refusals": sorted(self.refusals),
            "line": self.own.line,
        }

    def check_rules(self, facts: Set[Fact]) -> dict[str, bool]:
        """Returns for each house rule whether it was kept, by the rule's name. `facts`: facts that the agent must have
        looked up.
        """
        credits = [sum(account.credits) for account in self.accounts.values()]
        return {
            "identity_checked": not self.unverified_changes,
            "credit_within_limit": all(dollars <= CREDIT_LIMIT for dollars in credits),
            "own_account_only": self.looked_up <= {self.own.customer.number},
            "facts_looked_up": facts <= self.facts,
        }


def open_account(customer: Customer) -> Account:
    """Returns a new account of a customer with one invoice, paid in time and without a fee."""
    lines = {1: (f"{customer.plan} plan", PLANS[customer.plan].dollars)}
    invoice = Invoice(customer.invoice, lines, reference=customer.invoice.replace("INV-", "LW"))
    return Account(customer, customer.plan, invoice)


def open_office(customer: Customer) -> Office:
    """Returns a new office with the account of one customer, who is the one that writes."""
    own = open_account(customer)
    return Office(own, {customer.number: own})
