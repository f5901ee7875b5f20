"""Runs the command line. Its exit codes are 0 for done, 1 for a run that failed or was interrupted, and 2 for wrong
input.
"""

from ray_gym.cli.main import main

__all__ = ["main"]
