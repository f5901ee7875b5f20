"""Mathematical problems with one answer: checked by a library, and by a judge where that can't tell."""

from ray_gym.envs.math.environment import Mathematics

__all__ = ["Mathematics"]
