"""Gives the engine the weights of a step, also if its replica is just being started again."""

from __future__ import annotations

import time
from pathlib import Path

from ray_gym import Weights
from ray_gym.errors import RunFailed, UserError

WAIT_S = 900.0
"""Seconds within which a replica that died has to be up again."""
INTERVAL_S = 2.0


def give_weights(policy: Weights, version: int, folder: Path, wait_s: float = WAIT_S) -> None:
    """Has all replicas serve a checkpoint's weights as `version`, and waits for that.

    A model whose replica died refuses an update until Serve has started another one; weights of this trainer are
    refused for no other reason, so it tries again and says why. Errors: the last refusal after `wait_s`.
    """
    deadline, told = time.monotonic() + wait_s, ""
    while True:
        try:
            policy.update(version, folder)
            return
        except (RunFailed, UserError) as error:  # UpdateFailed is a RunFailed
            if time.monotonic() > deadline:
                raise
            if str(error) != told:
                print(f"step {version}: its weights are not served yet: {error}", flush=True)
            told = str(error)
            time.sleep(INTERVAL_S)
