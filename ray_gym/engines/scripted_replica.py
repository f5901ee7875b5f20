"""One replica of a scripted model behind Serve."""

from __future__ import annotations

from ray_gym.engines.scripted_model import ScriptedOptions, load_scripted
from ray_gym.hosting.lanes.replica import BatchedReplica
from ray_gym.models.base import Completion, CompletionRequest


class ScriptedReplica(BatchedReplica):
    def __init__(self, options: ScriptedOptions) -> None:
        """Loads the player. Errors: UserError for a player that isn't there."""
        self._model = load_scripted(options)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the player's answer. Errors: EpisodeFailure when the player raises, or is asked for a
        `response_format`.
        """
        return await self._model.complete(request)
