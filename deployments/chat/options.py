"""Defines the options of how a model's conversations are written and read."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

OWN_TEMPLATE_KWARGS = frozenset({"tokenize", "tools", "chat_template", "conversation", "add_generation_prompt"})


class ChatOptions(BaseModel):
    """These options say how the conversations of a model are written and read. Each that is left out is the model's
    own, or guessed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    chat_template: str | None = None
    """Path of a Jinja file instead of the model's own template."""
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Switches of the template itself: enable_thinking, ..."""

    @field_validator("chat_template_kwargs")
    @classmethod
    def _leaves_rendering_alone(cls, value: dict[str, Any]) -> dict[str, Any]:
        taken = sorted(OWN_TEMPLATE_KWARGS & value.keys())
        if taken:
            raise ValueError(f"{', '.join(taken)}: set by the rendering itself")
        return value

    tool_parser: str | None = None
    """Name in vLLM of the parser of the model's tool calls (hermes, llama3_json, ...), or plain: lines of NAME
    {arguments}. Default: guessed from the chat template and the model's name (`parsers`).
    """
    reasoning_parser: str | None = None
    """Name in vLLM of the parser of the model's reasoning, or none: then reasoning is part of the text. Default:
    guessed likewise.
    """
