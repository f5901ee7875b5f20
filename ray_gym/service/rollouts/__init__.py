"""Queues and plays the rollouts that callers submit, and remembers them after their end."""
