"""Tells which calls should reach the same replica of a model, and how they reach it."""

from __future__ import annotations

from typing import Literal

from ray_gym.models.base import CompletionRequest

Transport = Literal["batched", "handle"]
"""Way in which calls reach a replica: those of a worker together (`batched`), or each alone by Serve's handle
(`handle`).
"""

Affinity = Literal["session", "group", "none"]
"""Choice of the calls that should reach the same replica: those of an episode (`session`), those of all episodes of a
task, whose first prompts are alike (`group`), or no particular ones (`none`).
"""


def routing_key(request: CompletionRequest, affinity: Affinity) -> str:
    """Returns the routing key of a call: its `session_id` for the affinity `session`; its `group_id`, or without one
    its `session_id`, for `group`; "" for `none`. Calls with the same key go to the same replica, calls with "" to any.
    """
    if affinity == "none":
        return ""
    return request.group_id or request.session_id if affinity == "group" else request.session_id
