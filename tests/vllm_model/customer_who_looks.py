"""Defines a customer_service in which each side looks something up before anyone speaks.

A small model by itself calls tools too seldom for a test.
"""

from __future__ import annotations

import json

from ray_gym import Episode, ToolCall
from ray_gym.envs.customer_service import CustomerService


class LooksFirst(CustomerService):
    async def run(self, episode: Episode) -> None:
        for name in ("read_welcome_letter", "check_bank_statement", "look_at_router"):
            await episode.call("user", ToolCall(f"call_{name}", name, "{}"))
        for name, arguments in (
            ("look_up_customer", {"number_or_phone": episode.task.customer.number}),
            ("show_invoice", {"invoice": episode.task.customer.invoice}),
        ):
            await episode.call("policy", ToolCall(f"call_{name}", name, json.dumps(arguments)))
        await super().run(episode)
