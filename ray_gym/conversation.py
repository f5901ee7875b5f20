"""Exports `ray_gym.openai_api.conversation` under the name that environments import it by."""

from ray_gym.openai_api.conversation import (
    CarriedOut,
    Conversation,
    EarlierCall,
    EarlierMessage,
    carried_out,
    json_object,
    mirrored,
    spoken,
    system_prompt,
)

__all__ = [
    "CarriedOut",
    "Conversation",
    "EarlierCall",
    "EarlierMessage",
    "carried_out",
    "json_object",
    "mirrored",
    "spoken",
    "system_prompt",
]
