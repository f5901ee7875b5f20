"""Asks a scalar reward model: a named model of the config that answers a conversation with a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders.grader import Grader, Verdict
from ray_gym.messages import Message

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode


@dataclass(frozen=True)
class RewardModel(Grader):
    """Gives the model's number for `messages` (default: the conversation as the policy sees it), in its own range.

    An answer that is no finite number is the reward model's failure. A conversation that doesn't fit into its context
    is worth `too_long`, or, if that is None, the reward model's failure: then the policy escapes a bad reward by its
    length.
    """

    messages: Sequence[Message] | None = None
    reward_model: str = "reward_model"
    too_long: float | None = None

    async def grade(self, episode: Episode) -> Verdict:
        messages = self.messages if self.messages is not None else episode.threads["policy"].messages
        completion = await episode.consult(self.reward_model, *messages)
        answer, finish = completion.message.content, completion.finish_reason
        if finish == "context_full" and self.too_long is not None:
            return Verdict(self.too_long, f"the conversation is longer than {self.reward_model}'s context")
        if finish != "stop":
            hint = "; too_long gives this a value" if finish == "context_full" else ""
            raise EpisodeFailure(FailureKind.JUDGE, self.reward_model, f"its answer was cut ({finish}){hint}")
        try:
            value = float(answer)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise EpisodeFailure(
                FailureKind.JUDGE, self.reward_model, f"a reward model answers with a number, not with {answer[:200]!r}"
            )
        return Verdict(value, f"{self.reward_model} gave it {value:g}")
