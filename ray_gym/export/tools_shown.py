"""Finds the tools that a participant's prompts showed: in the record or, for runs before version 0.2, by asking the
environment.
"""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

from ray_gym.errors import UserError
from ray_gym.export.conversation import POLICY
from ray_gym.export.finished import Row
from ray_gym.export.tools_asked import WAY_OUT, ToolsAsked
from ray_gym.run.directory.reading import Run

Tool = dict[str, Any]
"""Tool in OpenAI's form."""


class ToolsShown:
    """Finds a participant's tools in each row. It is a context manager, which at its end closes the environment if that
    was made.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._asked: ToolsAsked | None = None

    def __enter__(self) -> ToolsShown:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._asked is not None:
            self._asked.close()

    def of(self, row: Row, participant: str = POLICY) -> list[Tool]:
        """Returns the tools that a participant's own thread showed in a row's episode, in OpenAI's form; [] if it
        showed none. They are recorded in the row, or else the environment is asked.

        Errors: UserError for a row without recorded tools whose environment does not exist, gets its tools from
        outside, or can't set the task up, or if it is not the policy's tools that are asked for.
        """
        if row["tools_shown"] is not None:
            recorded: list[Tool] = json.loads(row["tools_shown"], parse_constant=str).get(participant, [])
            return recorded
        if participant != POLICY:
            raise UserError(
                f"{self._run.location}: its record, which is of before 0.2, has no tools of {participant!r}; {WAY_OUT}"
            )
        if self._asked is None:
            self._asked = ToolsAsked(self._run)
        return self._asked.of(row)
