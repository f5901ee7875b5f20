"""Defines the keys of a `models.NAME` section whose engine is vllm_reward."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.deployments.vllm.options import ReplicaOptions


class Verdict(BaseModel):
    """A language model takes the place of a reward model: it is asked a question about the conversation, and the reward
    is by how much one answer is likelier than the other (the difference of their logits).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = "Was the assistant's last answer helpful, correct and harmless? Answer Yes or No."
    """Question that is put after the conversation, as the user's message."""
    good: str = "Yes"
    bad: str = "No"
    """Beginning of the bad answer (`good`: of the good one); each is one token."""


class RewardOptions(ReplicaOptions):
    chat_template: str | None = None
    """Path of a Jinja file instead of the model's own template."""
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)
    verdict: Verdict | None = None
    """Question to a checkpoint of a language model. A checkpoint of a reward model (a sequence classifier with one
    label) needs none.
    """
