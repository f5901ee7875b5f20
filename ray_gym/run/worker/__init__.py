"""Plays, in a worker, the episodes that a run's driver hands out."""
