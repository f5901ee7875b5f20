"""A task: what the user asks for, and the calls that do it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from envs.workplace_assistant.tools import Toolbox
from envs.workplace_assistant.workplace import Workplace
from ray_gym import Task, ToolError
from ray_gym.arguments import BadArguments
from ray_gym.tools import tools_of

TOOLS = tools_of(Toolbox)


class ExpectedCall(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    arguments: dict[str, Any] = {}

    def carry_out(self, workplace: Workplace) -> Any:
        """The tool's answer. Errors: ValueError, also for what the tool refuses."""
        tool = TOOLS.get(self.name)
        if tool is None:
            raise ValueError(f"there is no tool {self.name!r}; the tools are: {', '.join(TOOLS)}")
        try:
            values = tool.arguments.read(json.dumps(self.arguments))
            return getattr(Toolbox(), tool.method)(workplace, None, **values)
        except BadArguments as error:
            raise ValueError(f"bad arguments for {self.name}: {error}") from None
        except ToolError as error:
            raise ValueError(f"{self.name} refuses it: {error}") from None


class WorkplaceTask(Task):
    """The calls are the lookups that the request needs, if they are written down, and then what changes the tables."""

    request: Annotated[str, Field(min_length=1)]
    expected_calls: tuple[ExpectedCall, ...]

    @model_validator(mode="after")
    def _can_be_done(self) -> WorkplaceTask:
        played(self.expected_calls)
        return self


def played(calls: Sequence[ExpectedCall]) -> Workplace:
    """A fresh workplace after these calls. Errors: ValueError that names the first call that is refused."""
    workplace = Workplace.fresh()
    for number, call in enumerate(calls):
        try:
            call.carry_out(workplace)
        except ValueError as error:
            raise ValueError(f"expected_calls[{number}]: {error}") from None
    return workplace
