"""A counter that belongs to the session: what its tools make of it is the score."""

from ray_gym.envs.session_counter.environment import SessionCounter

__all__ = ["SessionCounter"]
