"""Connects ray_gym with prime-rl: in the place of its orchestrator, a stream writes its trainer's batches to files.

`docs/trainer_prime_rl.md` describes it, `examples/trainers/prime_rl/` has a recipe. Nothing here needs prime-rl.
"""

TESTED = ("559b44772e471d1538537b8805cc77f3824a5e64",)
"""Commits of prime-rl (0.8.0) that the bridge was tested with."""
