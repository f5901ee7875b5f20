"""Refuses requests in OpenAI's formats that ask for what no door offers: that would reach other callers' data, or
addresses that the caller can't reach itself.
"""

from __future__ import annotations

from typing import Any

from ray_gym.openai_api.parts import is_text_part
from ray_gym.openai_api.refused import bad_request
from ray_gym.openai_api.request import asks_for_nothing

REFUSED = frozenset(
    {"background", "conversation", "previous_response_id", "previous_input_messages"}  # nothing is kept
    | {"kv_transfer_params", "ec_transfer_params", "vllm_xargs", "priority", "request_id", "session_id"}
    | {"prompt_embeds", "media_io_kwargs", "mm_processor_kwargs", "chat_template"}
    | {"use_beam_search", "repetition_detection", "watermarking", "web_search_options"}
)
"""Names of fields that are refused unless their values ask for nothing."""


def require_offered(asked: dict[str, Any]) -> None:
    """Checks that a request's body asks for nothing that doors refuse: the fields in `REFUSED`, prompt templates,
    references to stored items, content other than text, and tools other than functions. Errors: Refused (400) if it
    does.
    """
    for field in sorted(REFUSED & asked.keys()):
        if not asks_for_nothing(field, asked[field]):
            raise bad_request(f"{field} is not offered here; leave it out", field)
    if isinstance(asked.get("prompt"), dict):
        raise bad_request("prompt: templates that are kept elsewhere are not offered here", "prompt")
    for field in ("messages", "input"):
        _require_texts(asked.get(field), field)
    for tool in _objects(asked.get("tools")):
        if (kind := tool.get("type", "function")) != "function":
            named = str(kind)[:40]
            raise bad_request(f"tools: only tools of type function are offered here, none of type {named!r}", "tools")


def _require_texts(items: Any, field: str) -> None:
    """Checks that messages hold only text: the server would fetch pictures from any address that a caller names.
    Errors: Refused (400) for other content, and for references to stored items.
    """
    for item in _objects(items):
        if item.get("type") == "item_reference":
            raise bad_request(f"{field}: items are not stored here, so none can be referred to", field)
        for part in _objects(item.get("content")):
            if not is_text_part(part.get("type") or "text"):
                raise bad_request(f"{field}: content of type {str(part['type'])[:40]!r}: only text is accepted", field)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
