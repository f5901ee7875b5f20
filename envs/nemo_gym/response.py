"""Makes response objects of the Responses API from the policy's part of an episode, as NeMo Gym's agents do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ray_gym import Episode, ToolSchema
from ray_gym.events import Event
from ray_gym.openai_api.items import response_items, why_incomplete


def response_of(episode: Episode, events: Sequence[Event], tools: Sequence[ToolSchema]) -> dict[str, Any]:
    """Returns the response object for some events: those of an episode, or of one message. Its usage is the whole
    episode's so far.
    """
    policy, usage, reason = episode.participants["policy"], episode.usage, why_incomplete(events)
    return {
        "id": f"resp_{episode.spec.episode_id}",
        "object": "response",
        "created_at": episode.now(),
        "model": policy.model,
        "output": response_items(events),
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "parallel_tool_calls": policy.parallel_tool_calls,
        "tool_choice": policy.tool_choice,
        "tools": [_tool(schema) for schema in tools],
        "usage": {
            "input_tokens": usage.prompt_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens},
            "output_tokens": usage.generated_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.prompt_tokens + usage.generated_tokens,
        },
    }


def _tool(schema: ToolSchema) -> dict[str, Any]:
    described = {"name": schema.name, "description": schema.description, "parameters": schema.parameters}
    return {"type": "function", "strict": False, **described}
