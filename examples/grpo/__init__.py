"""Trains a small model by GRPO on a stream of ray_gym (docs/grpo.md): `python -m examples.grpo guess`."""
