"""Chooses the seeds of vLLM's engines, so that no two replicas of a model draw the same tokens."""

from __future__ import annotations

from ray_gym.seeds import derive_seed

LARGEST_SEED = 2**32 - 1
"""Largest seed that NumPy takes, which vLLM seeds, too."""


def engine_seed(app: str, replica: str) -> int | None:
    """Returns the seed of the engine of a replica, for all of its ranks; None, for vLLM's own, if `replica` is "".

    vLLM gives every engine the seed 0, and requests without a seed draw from one stream: replicas under the same load
    would draw the same tokens, and a replica that is made anew would begin again with those of the first.

    `app`: name of the Serve application, which has the run's id. `replica`: id of the replica in Serve, which no other
    replica has, nor had.
    """
    return derive_seed("engine", app, replica) % (LARGEST_SEED + 1) if replica else None
