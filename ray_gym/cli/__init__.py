"""Runs the command line. Exit codes: 0 done, 1 the run failed (or was interrupted), 2 wrong input."""

from ray_gym.cli.main import main

__all__ = ["main"]
