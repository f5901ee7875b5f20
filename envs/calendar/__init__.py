"""Has the policy keep a calendar: it meets a user's requests, told in advance or turn by turn."""

from ray_gym.envs.calendar.environment import Calendar

__all__ = ["Calendar"]
