"""Plays NeMo Gym's resources servers over HTTP, unmodified, with their data as it is."""

from ray_gym.envs.nemo_gym.environment import NemoGym

__all__ = ["NemoGym"]
