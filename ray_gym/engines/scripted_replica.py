"""Runs a player, a Python function in the place of a language model, in a replica of a Serve deployment."""

from __future__ import annotations

from ray_gym.engines.scripted_model import ScriptedOptions, load_scripted
from ray_gym.hosting.lanes.replica import BatchedReplica
from ray_gym.models.base import Completion, CompletionRequest


class ScriptedReplica(BatchedReplica):
    """Answers the calls of all workers by one player (a Python function)."""

    def __init__(self, options: ScriptedOptions) -> None:
        """Imports the player. Errors: UserError if it can't be imported."""
        self._model = load_scripted(options)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the player's message as a completion without tokens.

        Errors: EpisodeFailure (environment if the player raises, data if the request has a `response_format`).
        """
        return await self._model.complete(request)
