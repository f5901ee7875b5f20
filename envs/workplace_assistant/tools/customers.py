"""Gives tools for customer relations: the company's customers, and the people who look after them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from ray_gym import tool
from ray_gym.envs.workplace_assistant.rows import PRODUCTS, STATUSES, CustomerRecord, Product, Status
from ray_gym.envs.workplace_assistant.tools.answers import Query, listing
from ray_gym.envs.workplace_assistant.tools.arguments import address, colleague, day, one_of, require_text, row
from ray_gym.envs.workplace_assistant.workplace import Workplace

_READ: Mapping[str, Callable[[Workplace, str], str]] = {
    "name": lambda workplace, text: require_text(text),
    "contact": lambda workplace, text: address(text),
    "assigned_to": colleague,
    "product": lambda workplace, text: one_of(PRODUCTS, text),
    "status": lambda workplace, text: one_of(STATUSES, text),
    "last_contact": lambda workplace, text: day(text),
    "follow_up": lambda workplace, text: day(text),
    "notes": lambda workplace, text: text.strip(),
}
_COLUMNS = ("id", "name", "contact", "assigned_to", "product", "status", "last_contact", "follow_up")


class CustomerRelationsTools:
    """Adds the tools for customers to the environment."""

    @tool()
    def customer_search(
        self,
        workplace: Workplace,
        caller: object,
        query: Annotated[str, Field(description="words of the name, contact or notes")] = "",
        assigned_to: Annotated[str, Field(description="address")] = "",
        product: Product | Literal[""] = "",
        status: Status | Literal[""] = "",
        last_contact_before: str = "",
    ) -> dict[str, object]:
        """Find customers, longest silent first. What is left out doesn't matter."""
        wanted = Query(query)
        limit = day(last_contact_before) if last_contact_before else ""
        found = [
            customer
            for customer in workplace.customers
            if wanted.matches(customer.name, customer.contact, customer.notes)
            and (not assigned_to or customer.assigned_to == assigned_to.strip().lower())
            and (not product or customer.product == product)
            and (not status or customer.status == status)
            and (not limit or customer.last_contact < limit)
        ]
        found.sort(key=lambda customer: customer.last_contact)
        return listing(found, *_COLUMNS)

    @tool()
    def customer_add(
        self,
        workplace: Workplace,
        caller: object,
        name: str,
        contact: Annotated[str, Field(description="address")],
        assigned_to: Annotated[str, Field(description="address")],
        product: Product,
        status: Status,
        last_contact: str,
        follow_up: str,
        notes: str = "",
    ) -> str:
        """Add a customer."""
        customer_id = workplace.customers.next_id
        holder = colleague(workplace, assigned_to)
        days = day(last_contact), day(follow_up)
        workplace.customers.put(
            CustomerRecord(
                customer_id, require_text(name), address(contact), holder, product, status, *days, notes.strip()
            )
        )
        return f"added {customer_id}"

    @tool()
    def customer_update(
        self,
        workplace: Workplace,
        caller: object,
        customer_id: str,
        field: Literal["name", "contact", "assigned_to", "product", "status", "last_contact", "follow_up", "notes"],
        new_value: str,
    ) -> str:
        """Change one field of a customer."""
        customer = row(workplace.customers, customer_id)
        workplace.customers.put(replace(customer, **{field: _READ[field](workplace, new_value)}))
        return f"changed {customer_id}"

    @tool()
    def customer_delete(self, workplace: Workplace, caller: object, customer_id: str) -> str:
        """Delete a customer."""
        workplace.customers.remove(row(workplace.customers, customer_id).id)
        return f"deleted {customer_id}"
