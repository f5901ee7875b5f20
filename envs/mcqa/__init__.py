"""Multiple choice: one question, one letter."""

from envs.mcqa.environment import MultipleChoice

__all__ = ["MultipleChoice"]
