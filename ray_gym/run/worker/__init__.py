"""Plays the episodes that the driver of a run leases to a worker."""
