"""Defines tools, and carries out their calls: on the event loop, in threads or in processes."""

from ray_gym.tools.answer import IdempotencyKey, ToolAnswer, ToolError, WhenLost, within
from ray_gym.tools.tool import Tool, tool_by_schema, tools_of

__all__ = ["IdempotencyKey", "Tool", "ToolAnswer", "ToolError", "WhenLost", "tool_by_schema", "tools_of", "within"]
