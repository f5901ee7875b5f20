"""Runs the sessions that callers play."""
