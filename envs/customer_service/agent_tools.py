"""Gives the agent its tools, which read and change the company's books. The customer can neither see nor call them.

The tools obey the agent even against the house rules, because the policy is scored for keeping the rules.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from ray_gym import Participant, ToolError, tool
from ray_gym.envs.customer_service.company import COMPANY, DUE_DAY, PLANS, PlanName, Refusal, TicketSubject
from ray_gym.envs.customer_service.office import Office

Number = Annotated[str, Field(description="A customer number, such as C123456.")]


class AgentTools:
    """Adds the agent's tools to the environment. The policy reads their docstrings."""

    @tool(participants=("policy",))
    def look_up_customer(
        self,
        office: Office,
        agent: Participant,
        number_or_phone: Annotated[str, Field(description="A customer number (C123456) or a phone number.")],
    ) -> dict[str, Any]:
        """Find a customer's account."""
        account = office.find(number_or_phone)
        customer = account.customer
        office.look("account", account)
        return {
            "customer_number": customer.number,
            "name": customer.name,
            "phone": customer.phone,
            "area": customer.area,
            "plan": account.plan,
            "months_left_of_minimum_term": customer.months_left,
            "invoice": account.invoice.id,
            "credits": account.credits,
        }

    @tool(participants=("policy",))
    def verify_identity(
        self,
        office: Office,
        agent: Participant,
        customer_number: Number,
        pin: Annotated[str, Field(description="The security PIN that the customer gave: four digits.")],
    ) -> str:
        """Check the customer's identity, before anything is changed."""
        office.verify(customer_number, pin)
        return "The PIN is right: the identity is checked."

    @tool(participants=("policy",))
    def check_outages(self, office: Office, agent: Participant, area: str) -> dict[str, Any]:
        """The outage map: for how many full days an area had no internet this month."""
        if area == office.own.customer.area:
            office.look("outages", office.own)
        return {"area": area, "days_of_outage": office.outages.get(area, 0)}

    @tool(participants=("policy",))
    def check_line(self, office: Office, agent: Participant, customer_number: Number) -> dict[str, Any]:
        """Measure a customer's line and router from here, as they are now."""
        account = office.account(customer_number)
        office.look("line", account)
        found = {
            "good": "The line and the router are fine.",
            "router_hangs": "The line is fine, but the router hangs. The customer has to restart it.",
            "line_faulty": "The line itself is faulty. A technician has to see to it.",
        }
        return {
            "finding": found[account.line],
            "megabits": account.megabits,
            "megabits_of_plan": PLANS[account.plan].megabits,
        }

    @tool(participants=("policy",))
    def show_invoice(self, office: Office, agent: Participant, invoice: str) -> dict[str, Any]:
        """The lines of an invoice, and when it was due."""
        account = office.account(office.invoice(invoice).customer.number)
        office.look("invoice", account)
        found = account.invoice
        lines = [{"line": line, "text": text, "dollars": dollars} for line, (text, dollars) in found.lines.items()]
        return {"invoice": found.id, "lines": lines, "due_on_day": DUE_DAY}

    @tool(participants=("policy",))
    def find_payment(
        self,
        office: Office,
        agent: Participant,
        reference: Annotated[
            str, Field(description="The payment's reference, which the customer's bank statement has.")
        ],
    ) -> dict[str, Any]:
        """When a payment arrived, and for which invoice."""
        for account in office.accounts.values():
            if account.invoice.reference == reference.strip():
                invoice = office.account(account.customer.number).invoice
                office.look("payment", account)
                return {"invoice": invoice.id, "arrived_on_day": invoice.arrived_on_day}
        raise ToolError(f"there is no payment with the reference {reference!r}")

    @tool(participants=("policy",))
    def remove_invoice_line(self, office: Office, agent: Participant, invoice: str, line: int) -> str:
        """Take a wrong line off an invoice."""
        number = office.invoice(invoice).customer.number
        lines = office.account(number).invoice.lines
        if line not in lines:
            raise ToolError(f"{invoice} has no line {line}; its lines are {', '.join(map(str, lines))}")
        office.account_to_change(number, "invoice")
        text, dollars = lines.pop(line)
        return _notify_customer(office, f"Removed from {invoice}: {text}, ${dollars}.")

    @tool(participants=("policy",))
    def issue_credit(
        self,
        office: Office,
        agent: Participant,
        customer_number: Number,
        dollars: Annotated[int, Field(ge=1, le=1000)],
    ) -> str:
        """Give a customer a credit."""
        office.account_to_change(customer_number, "credit").credits.append(dollars)
        return _notify_customer(office, f"A credit of ${dollars} was given.")

    @tool(participants=("policy",))
    def change_plan(self, office: Office, agent: Participant, customer_number: Number, plan: PlanName) -> str:
        """Put a customer on another plan."""
        office.account_to_change(customer_number, "plan").plan = plan
        return _notify_customer(office, f"The plan is now {plan}.")

    @tool(participants=("policy",))
    def open_ticket(self, office: Office, agent: Participant, customer_number: Number, subject: TicketSubject) -> str:
        """Pass something on to the colleagues who can do it."""
        office.account_to_change(customer_number, "ticket")
        office.tickets.append((customer_number, subject))
        return _notify_customer(office, f"A ticket was opened: {subject}.")

    @tool(participants=("policy",))
    def record_refusal(self, office: Office, agent: Participant, reason: Refusal) -> str:
        """Write down that a request was refused, and by which rule."""
        office.refuse(reason)
        return "The refusal is written down."


def _notify_customer(office: Office, what: str) -> str:
    """Sends the customer a text message about a change, so that the customer knows even if the agent does not mention
    it. Returns the tool's answer.
    """
    office.notices["user"].append(f"(Text message from {COMPANY}: {what})")
    return f"Done; the customer was sent: {what}"
