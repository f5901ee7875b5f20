"""Drives a run: hands out episodes and commits their rows."""
