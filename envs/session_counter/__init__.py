"""Gives each session a counter: what its tools make of the counter is the score."""

from ray_gym.envs.session_counter.environment import SessionCounter

__all__ = ["SessionCounter"]
