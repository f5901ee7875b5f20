"""Defines a task: what the user asks for, and the calls that do it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from ray_gym import Task, ToolError
from ray_gym.envs.workplace_assistant.tools import Toolbox
from ray_gym.envs.workplace_assistant.workplace import Workplace
from ray_gym.openai_api.conversation import answered_calls, json_object
from ray_gym.task import Words
from ray_gym.tools.arguments import BadArguments
from ray_gym.tools.tool import tools_of

TOOLS = tools_of(Toolbox)


class ExpectedCall(BaseModel):
    """An expected call is a tool's name and arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    arguments: dict[str, Any] = {}

    def carry_out(self, workplace: Workplace) -> Any:
        """Makes the call in a workplace, and returns the tool's result. Errors: ValueError for an unknown tool, for bad
        arguments, and for a call that the tool refuses.
        """
        tool = TOOLS.get(self.name)
        if tool is None:
            raise ValueError(f"there is no tool {self.name!r}; the tools are: {', '.join(TOOLS)}")
        try:
            values = tool.arguments.read(json.dumps(self.arguments))
            return getattr(Toolbox(), self.name)(workplace, None, **values)
        except BadArguments as error:
            raise ValueError(f"bad arguments for {self.name}: {error}") from None
        except ToolError as error:
            raise ValueError(f"{self.name} refuses it: {error}") from None


class WorkplaceTask(Task):
    """A task is a request and the calls that do it: lookups, if they are written down, and then changes of the tables.

    The calls begin in the office to which the calls in `messages`, if there are any, have led.
    """

    request: Words
    expected_calls: tuple[ExpectedCall, ...]

    @model_validator(mode="after")
    def _check_calls(self) -> WorkplaceTask:
        carry_out_calls(self.expected_calls, self.open_workplace())
        return self

    def open_workplace(self) -> Workplace:
        """Returns a fresh workplace after the calls in `messages`. Errors: ValueError that names the first call that
        can't be carried out.
        """
        workplace = Workplace.fresh()
        for done in answered_calls(self.messages):
            try:
                arguments = json_object(done.call.arguments)
                ExpectedCall(name=done.call.name, arguments=arguments).carry_out(workplace)
            except ValueError as error:
                raise ValueError(
                    f"messages[{done.number}]: call {done.call.id!r} was carried out, but: {error}"
                ) from None
        return workplace


def carry_out_calls(calls: Sequence[ExpectedCall], workplace: Workplace | None = None) -> Workplace:
    """Makes these calls in a workplace, which they change, and returns it. None means a fresh one.

    Errors: ValueError that names the first call that can't be carried out.
    """
    workplace = workplace or Workplace.fresh()
    for number, call in enumerate(calls):
        try:
            call.carry_out(workplace)
        except ValueError as error:
            raise ValueError(f"expected_calls[{number}]: {error}") from None
    return workplace
