"""Gives the customer their tools: their home and their papers. The agent can neither see nor call them.

A router that the customer has restarted also looks so to the agent's tools.
"""

from __future__ import annotations

from typing import Any

from ray_gym import Participant, tool
from ray_gym.envs.customer_service.office import LineState, Office

LIGHTS: dict[LineState, dict[str, str]] = {
    "good": {"power": "green", "internet": "green"},
    "router_hangs": {"power": "green", "internet": "blinking orange"},
    "line_faulty": {"power": "green", "internet": "red"},
}


class CustomerTools:
    """Adds the customer's tools to the environment. The customer's model reads their docstrings."""

    @tool(participants=("user",))
    def look_at_router(self, office: Office, customer: Participant) -> dict[str, str]:
        """See which lights of your router are on. Only you see it."""
        return LIGHTS[office.own.line]

    @tool(participants=("user",))
    def restart_router(self, office: Office, customer: Participant) -> dict[str, str]:
        """Switch your router off and on again, and see its lights."""
        if office.own.line == "router_hangs":
            office.own.line = "good"
        return LIGHTS[office.own.line]

    @tool(participants=("user",))
    def run_speed_test(self, office: Office, customer: Participant) -> dict[str, int]:
        """Measure how fast your connection is now."""
        return {"megabits": office.own.megabits}

    @tool(participants=("user",))
    def check_bank_statement(self, office: Office, customer: Participant) -> dict[str, Any]:
        """See on which day you sent the money for this month's invoice, and the reference of the payment."""
        invoice = office.own.invoice
        return {"sent_on_day": invoice.sent_on_day, "reference": invoice.reference}

    @tool(participants=("user",))
    def read_welcome_letter(self, office: Office, customer: Participant) -> dict[str, str]:
        """Read the letter that came with your contract: customer number and security PIN."""
        own = office.own.customer
        return {"customer number": own.number, "security PIN": own.pin}

    @tool(participants=("user",))
    def send_photo_of_router(self, office: Office, customer: Participant) -> str:
        """Send the agent a photo of your router. It goes with your message; without one, it goes alone."""
        lights = LIGHTS[office.own.line]
        photo = f"(Photo of a router. Lights: power {lights['power']}, internet {lights['internet']}.)"
        office.notices["policy"].append(photo)
        return f"The agent will see this: {photo}"
