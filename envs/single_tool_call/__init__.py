"""Asks one question about a city's weather, which takes one tool call to answer."""

from ray_gym.envs.single_tool_call.environment import SingleToolCall

__all__ = ["SingleToolCall"]
