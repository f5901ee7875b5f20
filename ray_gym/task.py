"""Defines what an episode starts from: a task, and what is there before anyone speaks."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator
from pydantic_core import from_json, to_json

from ray_gym.messages import Message, is_blank
from ray_gym.openai_api.conversation import Conversation, system_prompt
from ray_gym.ordered_sets import has_sets, in_order


def _has_words(text: str) -> str:
    """Checks that a text says something, and returns it. Errors: ValueError."""
    if is_blank(text):
        raise ValueError("it is blank")
    return text


Words = Annotated[str, Field(min_length=1), AfterValidator(_has_words)]
"""Type of a pydantic field for a text that is not blank."""


class Task(BaseModel):
    """A task is one row of a dataset. Environments subclass it with their own fields; unknown fields are errors.

    `system_prompts` (by participant) win over those of the config and of the environment. `messages` are a conversation
    to go on with, in the place of the opening's messages: the policy sees it as it is, and a user sees it from the
    user's side. Nothing in it is trained on. The participant that did not speak last speaks next. The conversation's
    tool calls are not made again: `setup` gives the state that they led to.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    takes_nemo_gym_rows: ClassVar[bool] = False
    """True if rows with `responses_create_params` are given to the task as they are, instead of under our names."""

    task_id: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    system_prompts: dict[str, str] = {}
    messages: Conversation = ()

    @field_validator("task_id")
    @classmethod
    def _is_one_line(cls, value: str | None) -> str | None:
        """Checks that the id has no control characters, since it stands in tables and messages, and returns it. Errors:
        ValueError if it has any.
        """
        if value is not None and any(unicodedata.category(character) == "Cc" for character in value):
            raise ValueError("it has control characters")
        return value

    def prompts(self) -> dict[str, str]:
        """Returns the system prompts by participant: `system_prompts`, and for the policy without one there the system
        messages of `messages`.
        """
        earlier = system_prompt(self.messages)
        return ({"policy": earlier} if earlier else {}) | self.system_prompts


def task_json(task: Task, exclude: set[str] | None = None) -> str:
    """Returns a task as the JSON text that is recorded, and from which workers read it: fields under their names but for
    those in `exclude`, and no computed ones. Errors: pydantic's PydanticSerializationError for values that it can't write.
    """
    text = task.model_dump_json(round_trip=True, exclude=exclude)
    return to_json(in_order(task, from_json(text))).decode() if has_sets(type(task)) else text


def task_data(task: Task, include: set[str] | None = None, exclude: set[str] | None = None) -> dict[str, Any]:
    """Returns a task as the JSON data from which it is read: all fields, or those in `include`, but for those in `exclude`.
    Errors: as of `task_json`.
    """
    written = task.model_dump(mode="json", round_trip=True, include=include, exclude=exclude)
    return in_order(task, written) if has_sets(type(task)) else written


TaskT = TypeVar("TaskT", bound=Task)


@dataclass(frozen=True, slots=True)
class Opening:
    """An opening is what is there before anyone speaks.

    `system` gives default system prompts by participant; those of the config and the task win over them. `messages`
    gives, by participant, the messages with which the participant's thread starts. A plain string is one user message.
    Messages of the assistant and of tools among them are prompt: nothing is trained on them. `first` names the
    participant that speaks first.
    """

    messages: Mapping[str, str | list[Message]] = field(default_factory=dict)
    system: Mapping[str, str] = field(default_factory=dict)
    first: str = "policy"
