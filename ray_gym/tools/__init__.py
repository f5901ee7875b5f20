"""Defines tools, carries their calls out, and decides where they run."""

from ray_gym.tools.answer import IdempotencyKey, ToolAnswer, ToolError, WhenLost, within
from ray_gym.tools.tool import Tool, tool_by_schema, tools_of

__all__ = ["IdempotencyKey", "Tool", "ToolAnswer", "ToolError", "WhenLost", "tool_by_schema", "tools_of", "within"]
