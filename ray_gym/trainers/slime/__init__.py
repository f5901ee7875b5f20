"""Connects ray_gym with slime: groups of a service for its rollout function, and its weights for the service's model.

`docs/trainer_slime.md` describes it, `examples/trainers/slime/` has a recipe. `samples` needs no package, and
`rollouts` slime: `--rollout-function-path ray_gym.trainers.slime.rollouts.generate_rollout`.
"""

TESTED = ("624b824a898ab0ec1fcb4d373004c7f3852bf515",)
"""Commits of slime (0.3.1) that the bridge was tested with."""
