"""Makes calls of the openai engine to a double of an endpoint."""

from __future__ import annotations

import asyncio
from typing import Any

from endpoint_double import EndpointDouble

from ray_gym.engines.openai import OpenAIEngine, OpenAIModel, OpenAIOptions
from ray_gym.messages import Message, ToolSchema
from ray_gym.models.base import CompletionRequest, EngineCheck, Sampling

MOVE = ToolSchema("move", "Make a move.", {"type": "object", "properties": {"position": {"type": "integer"}}})
MOVE_NOW = ToolSchema(
    "move",
    "Make a move.",
    {
        "type": "object",
        "properties": {"position": {"enum": [3, 5]}},
        "required": ["position"],
        "additionalProperties": False,
    },
)


def options(endpoint: EndpointDouble | str, **more: Any) -> OpenAIOptions:
    base_url = endpoint if isinstance(endpoint, str) else endpoint.base_url
    return OpenAIOptions(base_url=base_url, model=more.pop("model", "small"), **more)


def request(**more: Any) -> CompletionRequest:
    messages = more.pop("messages", [Message("user", "Hello")])
    return CompletionRequest(messages, more.pop("sampling", Sampling()), session_id="s1", seed=1, **more)


async def check(engine: OpenAIEngine, *samplings: Sampling) -> None:
    """Checks an engine in a thread, as the double answers from this one's loop."""
    named = {f"p{index}": sampling for index, sampling in enumerate(samplings)}
    await asyncio.to_thread(engine.check, EngineCheck("judge", named, uses_tools=False))


async def complete(endpoint: EndpointDouble, exact: bool = False, retries: int = 2, **more: Any) -> Any:
    model = OpenAIModel(options(endpoint, retries=retries), None, exact, first_pause_s=0.01)
    try:
        return await model.complete(request(**more))
    finally:
        await model.close()
