"""Has the policy assist in an office: requests, 27 tools in six areas, and the tables that they change."""

from ray_gym.envs.workplace_assistant.environment import WorkplaceAssistant

__all__ = ["WorkplaceAssistant"]
