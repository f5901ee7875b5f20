"""Plays the rollouts that callers submit."""
