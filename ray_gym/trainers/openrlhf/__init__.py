"""Connects ray_gym with OpenRLHF: groups of a service for its `PPOTrainer`, and its weights for the service's model.

`docs/trainer_openrlhf.md` describes it, `examples/trainers/openrlhf/` has a recipe. `responses` needs no package, and
what else is here OpenRLHF.
"""

TESTED = ("0.11.2",)
"""Versions of OpenRLHF that the bridge was tested with."""
