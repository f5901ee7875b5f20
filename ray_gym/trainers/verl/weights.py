"""Hands the weights of verl's workers over to the trainer's process, as a checkpoint engine of verl."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ray
from verl.checkpoint_engine import CheckpointEngine

STATE = "state_dict"
"""Name under which the first rank returns the reference of the weights."""


class HandedWeights(CheckpointEngine):  # type: ignore[misc]  # verl has no types
    """Puts the whole weights into Ray's object store on the first rank, from where `ray_gym.Weights` takes them.

    verl makes one in each worker of the actor. The workers of its own engines, which would receive weights, don't exist.
    """

    def __init__(self, bucket_size: int, is_master: bool = False, **_: Any) -> None:
        """Takes verl's arguments. `bucket_size` is of no use: `Weights.update` takes all tensors at once."""
        self._is_master = is_master

    async def send_weights(self, weights: Iterable[tuple[str, Any]], global_steps: int | None = None) -> dict[str, Any]:
        """Returns a reference of the weights on the first rank. All ranks go through them, since that gathers shards."""
        state = {}
        for name, tensor in weights:
            if self._is_master:
                state[name] = tensor.detach().to("cpu", copy=True)
        return {STATE: [ray.put(state)]} if self._is_master else {}

    def prepare(self) -> dict[str, Any]:
        """Returns nothing: there is nothing to prepare."""
        return {}

    @classmethod
    def build_topology(cls, *_: Any, **__: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns nothing: there is no group of processes."""
        return {}, {}

    def init_process_group(self, **_: Any) -> None:
        """Does nothing, likewise."""

    def finalize(self) -> None:
        """Does nothing: the object store frees the weights when the next ones are served."""

    async def receive_weights(self, global_steps: int | None = None) -> Any:
        """Raises NotImplementedError: the stream's own engines serve the weights."""
        raise NotImplementedError("ray_gym's engines serve the weights; verl has none to receive them")
