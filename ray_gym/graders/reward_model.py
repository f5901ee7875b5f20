"""Asks a scalar reward model, which answers a conversation with a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders.grader import Grader, Verdict
from ray_gym.messages import Message
from ray_gym.printable import beginning

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode


@dataclass(frozen=True)
class RewardModel(Grader):
    """Gives the number that a reward model answers, in the model's own range.

    An answer that is no finite number is the reward model's failure.
    """

    messages: Sequence[Message] | None = None
    """Conversation to rate; None means the conversation as the policy sees it."""
    reward_model: str = "reward_model"
    """Name of the reward model among the environment's `auxiliary`."""
    too_long: float | None = None
    """Value if the conversation does not fit into the model's context; None makes that the model's failure, by which
    the policy could escape a bad reward."""

    async def grade(self, episode: Episode) -> Verdict:
        """Returns the model's number, or `too_long` if the conversation does not fit. Errors: EpisodeFailure (judge) if
        the answer was cut or is no finite number.
        """
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
                FailureKind.JUDGE,
                self.reward_model,
                f"a reward model answers with a number, not with {beginning(answer, 200)!r}",
            )
        return Verdict(value, f"{self.reward_model} gave it {value:g}")
