"""Connects ray_gym with SkyRL: groups of a service for its `RayPPOTrainer`, and its weights for the service's model.

`docs/trainer_skyrl.md` describes it, `examples/trainers/skyrl/` has a recipe. `trajectories` needs no package, and what
else is here SkyRL.
"""

TESTED = ("0.4.0",)
"""Versions of SkyRL that the bridge was tested with."""
