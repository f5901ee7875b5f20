"""Has the model of a stream serve the weights of a synchronous trainer, where TRL has its own vLLM."""

from __future__ import annotations

from typing import Any

from ray_gym.errors import UserError
from ray_gym.weights.client import Weights


class Publisher:
    """Stands at `trainer.vllm_generation`. TRL calls `sync_weights` before a rollout whenever the weights have moved.

    The version of the weights is the number of optimiser steps that they have seen. The first rollout pushes nothing if
    the model serves that version already: with what the config names it began with the trainer's weights.
    """

    def __init__(self, trainer: Any, weights: Weights | None, model: str) -> None:
        """Takes the trainer, and the weights of the stream's model, which rank 0 changes (None on other ranks).

        `model`: its name in the config.
        """
        self._trainer = trainer
        self._weights = weights
        self._model = model

    def sync_weights(self) -> None:
        """Pushes the trainer's weights. All ranks call it. Errors: UserError and RunFailed on rank 0."""
        accelerator, step = self._trainer.accelerator, self._trainer.state.global_step
        state = accelerator.get_state_dict(self._trainer.model)
        if self._weights is not None:
            served = self._weights.version
            if served > step:
                raise UserError(
                    f"models.{self._model}: it serves version {served}, and the trainer is at step {step}; open the "
                    "stream with the overrides and the cursor of ray_gym.trainers.trl.opening(checkpoint)"
                )
            if served < step:
                tensors = {name.removeprefix("module."): tensor.detach().cpu() for name, tensor in state.items()}
                self._weights.update(step, state_dict=tensors)
        accelerator.wait_for_everyone()
