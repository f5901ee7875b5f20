"""Exports `ray_gym.openai_api.conversation` under the name that environments import it by."""

from typing import Any

from ray_gym.deprecation import warn_renamed
from ray_gym.openai_api import conversation
from ray_gym.openai_api.conversation import (
    AnsweredCall,
    Conversation,
    EarlierCall,
    EarlierMessage,
    answered_calls,
    json_object,
    policy_view,
    system_prompt,
    user_view,
)

__all__ = [
    "AnsweredCall",
    "Conversation",
    "EarlierCall",
    "EarlierMessage",
    "answered_calls",
    "json_object",
    "policy_view",
    "system_prompt",
    "user_view",
]

_RENAMED = {
    "CarriedOut": "AnsweredCall",
    "carried_out": "answered_calls",
    "mirrored": "user_view",
    "spoken": "policy_view",
}
"""Names of 0.1, with their successors. They are removed in 0.4."""


def __getattr__(name: str) -> Any:
    """Returns the object that a name of version 0.1 stands for, with a FutureWarning. Errors: AttributeError for any
    other name.
    """
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_renamed(f"{__name__}.{name}", f"{__name__}.{_RENAMED[name]}")
    return getattr(conversation, _RENAMED[name])
