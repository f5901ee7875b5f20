"""NeMo Gym's resources servers over HTTP, unmodified, and its data as it is."""

from envs.nemo_gym.environment import NemoGym

__all__ = ["NemoGym"]
