"""Connects ray_gym with TRL: groups of a stream for `GRPOTrainer` and `AsyncGRPOTrainer`, and their weights for ray_gym.

`docs/trl.md` describes it, `examples/trainers/trl/` has recipes. Importing this needs torch and transformers, and TRL
is imported by what uses it.
"""

from ray_gym.trainers.trl.asynchronous import AsyncRollouts
from ray_gym.trainers.trl.checkpoint import opening
from ray_gym.trainers.trl.placeholder import placeholder_dataset
from ray_gym.trainers.trl.synchronous import Rollouts
from ray_gym.trainers.trl.tested import TESTED

__all__ = ["TESTED", "AsyncRollouts", "Rollouts", "opening", "placeholder_dataset"]
