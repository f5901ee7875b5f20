"""Rollouts that callers submit."""
