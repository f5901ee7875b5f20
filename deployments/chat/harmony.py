"""Reads calls of gpt-oss of tools that are no functions.

gpt-oss was trained with the tools python and browser, whose calls it addresses without `functions.`: `to=python`,
`to=browser.search`. vLLM's parser drops such a message, or takes it for reasoning, though nobody else carries it out.
"""

from __future__ import annotations

from typing import Any


def read_all_recipients(parser: Any) -> Any:
    """Returns a subclass of vLLM's parser for gpt-oss that reads a message to any tool as a call of it."""
    from vllm.entrypoints.openai.parser.harmony_utils import BUILTIN_TOOL_TO_MCP_SERVER_LABEL as TOOLS

    class Parser(parser):  # type: ignore[misc]
        """Takes the tools that the model was trained with for functions, if it has any tools."""

        def __init__(self, tokenizer: Any, tools: Any = None, **settings: Any) -> None:
            super().__init__(tokenizer, tools, **settings)
            self._has_tools = bool(tools)

        def _normalize_recipient(self, recipient: str | None) -> str | None:
            normal: str | None = parser._normalize_recipient(recipient)
            is_tool = self._has_tools and normal is not None and normal.partition(".")[0] in TOOLS
            return f"functions.{normal}" if is_tool else normal

    return Parser
