"""Implements `ray-gym new-env`, which writes the files of a new environment: a distribution of its own, outside of this
repository.
"""

from ray_gym.scaffold.write import PATTERNS, Written, write_environment

__all__ = ["PATTERNS", "Written", "write_environment"]
