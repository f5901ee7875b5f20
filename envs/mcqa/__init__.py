"""Multiple choice: one question, one letter."""

from ray_gym.envs.mcqa.environment import MultipleChoice

__all__ = ["MultipleChoice"]
