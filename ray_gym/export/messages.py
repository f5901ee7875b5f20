"""Writes conversations as OpenAI's chat messages, with the tools that prompts showed."""

from __future__ import annotations

from typing import Any

from ray_gym.export.chats import Chats, View
from ray_gym.export.selection import Counts


class Messages(Chats):
    """Writes the messages of a participant's conversation as OpenAI's Chat Completions have them: arguments of calls
    are text, and reasoning is `reasoning_content`.
    """

    to = "messages"
    arguments_as = "text"

    def fields(self, view: View, counts: Counts) -> dict[str, Any]:
        """Returns the messages and, where there are any, the tools."""
        return {"messages": view.messages, **({"tools": view.tools} if view.tools else {})}
