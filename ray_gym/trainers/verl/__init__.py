"""Connects ray_gym with verl: groups of a stream for verl's V1 trainer, and its weights for the stream's model.

`docs/trainer_verl.md` describes it, `examples/trainers/verl/` has a recipe. verl finds the bridge by
`VERL_USE_EXTERNAL_MODULES=ray_gym.trainers.verl.plugin`. Importing this package needs nothing of verl.
"""

from ray_gym.trainers.verl.tested import TESTED

__all__ = ["TESTED"]
