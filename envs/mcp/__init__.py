"""Plays tasks with the tools of MCP servers."""

from ray_gym.envs.mcp.environment import Mcp, McpTask

__all__ = ["Mcp", "McpTask"]
