"""Asks one multiple-choice question, which one letter answers."""

from ray_gym.envs.mcqa.environment import MultipleChoice

__all__ = ["MultipleChoice"]
