"""Has the model of a stream serve the weights of an asynchronous trainer, as its `weight_transfer`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ray_gym.weights.client import Weights


class WeightTransfer:
    """Pushes weights by `ray_gym.Weights`, which pauses the model's replicas by itself, so that little is left to do.

    TRL counts its pushes from 1, the first of which comes before the first rollout. The version that the model serves
    after push n is the one that it began with plus n.
    """

    def __init__(self, weights: Weights, base: int) -> None:
        """Takes the weights of the stream's model, and the version that it serves before the first push."""
        self._weights = weights
        self._version = base

    def init_weight_transfer(self) -> None:
        """Does nothing: there is no group of processes to set up."""

    def pause(self) -> None:
        """Does nothing: the update pauses the replicas, once it has found that the weights fit."""

    def send_weights(self, iterator: Iterator[tuple[str, Any]]) -> None:
        """Loads the trainer's weights on all replicas. `iterator`: names and tensors, each of which may be gone at the
        next. Errors: UserError if they don't fit, in which case nothing was touched; UpdateFailed, RunFailed.
        """
        state = {name: tensor.detach().to("cpu", copy=True) for name, tensor in iterator}
        self._version = self._weights.update(self._version + 1, state_dict=state)

    def resume(self) -> None:
        """Does nothing: the update has resumed the replicas."""

    def destroy(self) -> None:
        """Does nothing: the model ends with the stream."""
