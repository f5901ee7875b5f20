"""Gives each episode a counter, whose final value is scored."""

from ray_gym.envs.session_counter.environment import SessionCounter

__all__ = ["SessionCounter"]
