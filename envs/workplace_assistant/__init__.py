"""Workplace assistant: requests of office work, 27 tools in six areas, and the tables they change."""

from ray_gym.envs.workplace_assistant.environment import WorkplaceAssistant

__all__ = ["WorkplaceAssistant"]
