"""Defines the options of a model's chat template and parsers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

OWN_TEMPLATE_KWARGS = frozenset({"tokenize", "tools", "chat_template", "conversation", "add_generation_prompt"})
"""Arguments of `apply_chat_template` that the rendering sets, and `chat_template_kwargs` must not."""


class ChatOptions(BaseModel):
    """Holds the options of a model's chat template and parsers. If an option is left out, the model's own value is
    taken, or one is guessed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    chat_template: str | None = None
    """Path of a Jinja file instead of the model's own template."""
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Variables that are passed to the template, such as enable_thinking."""

    @field_validator("chat_template_kwargs")
    @classmethod
    def _check_kwargs(cls, value: dict[str, Any]) -> dict[str, Any]:
        taken = sorted(OWN_TEMPLATE_KWARGS & value.keys())
        if taken:
            raise ValueError(f"{', '.join(taken)}: set by the rendering itself")
        return value

    tool_parser: str | None = None
    """vLLM's name of the parser of the model's tool calls (hermes, llama3_json, ...), or `plain`: calls are lines
    `NAME {arguments}`. By default it is guessed from the chat template and the model's name (`parsers`).
    """
    reasoning_parser: str | None = None
    """vLLM's name of the parser of the model's reasoning, or `none`: then reasoning stays in the text. By default it is
    guessed like the tool parser.
    """
