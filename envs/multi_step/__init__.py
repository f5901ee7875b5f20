"""Asks for several tool calls, whose results in order are the arguments of a last one."""

from ray_gym.envs.multi_step.environment import MultiStep

__all__ = ["MultiStep"]
