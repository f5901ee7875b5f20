"""Which calls should reach the same replica of a model, and how."""

from __future__ import annotations

from typing import Literal

from ray_gym.models.base import CompletionRequest

Transport = Literal["batched", "handle"]
"""How calls reach a replica: those of a worker together, or each alone by Serve's handle."""

Affinity = Literal["session", "group", "none"]
"""Those of an episode, those of all episodes of a task (whose first prompts are alike), or as it comes."""


def routing_key(request: CompletionRequest, affinity: Affinity) -> str:
    """Calls of the same key go to the same replica; "" to any."""
    if affinity == "none":
        return ""
    return request.group_id or request.session_id if affinity == "group" else request.session_id
