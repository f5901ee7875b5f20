"""Connects ray_gym with AReaL: groups of a service for `PPOTrainer`, and its weights for the service's model.

`docs/trainer_areal.md` describes it, `examples/trainers/areal/` has a recipe. `workflow` needs AReaL, `trajectory` torch
alone, and `weight_server` neither.
"""

TESTED = ("1.0.4",)
"""Versions of AReaL that the bridge was tested with."""
