"""Drives a run: leases episodes to workers, and commits their rows."""
