"""Defines the options of `engine: vllm_reward` in a config (`models.NAME`)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.deployments.vllm.options import ReplicaOptions


class VerdictOptions(BaseModel):
    """Holds the options to use a language model as a reward model. It gets a question after the conversation, and the
    reward is the logit of the good answer's token minus that of the bad answer's token.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = "Was the assistant's last answer helpful, correct and harmless? Answer Yes or No."
    """Question that follows the conversation, as a message of the user."""
    good: str = "Yes"
    """Beginning of the good answer: a text that has to be one token of the model."""
    bad: str = "No"
    """Beginning of the bad answer: a text that has to be one token of the model."""


class RewardOptions(ReplicaOptions):
    """Holds the options of `engine: vllm_reward` in a config."""

    chat_template: str | None = None
    """Path of a Jinja file instead of the model's own template."""
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Variables that are passed to the template."""
    verdict: VerdictOptions | None = None
    """Question for a checkpoint of a language model. A checkpoint of a reward model (a sequence classifier with one
    label) needs none.
    """
