"""Carries out a tool call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ray_gym.errors import EpisodeFailure, FailureKind, describe
from ray_gym.messages import ToolCall
from ray_gym.stop import EpisodeOver
from ray_gym.tools.answer import IdempotencyKey, ToolAnswer, ToolError, as_text
from ray_gym.tools.arguments import BadArguments

if TYPE_CHECKING:
    from ray_gym.tools.runner import ToolRunner
from ray_gym.tools.tool import Tool

LONGEST_RESULT = 1_000_000
"""Number of characters that one call may be answered with: more no conversation could take."""


async def call_tool(
    environment: Any,
    tools: dict[str, Tool],
    state: Any,
    caller: Any,
    call: ToolCall,
    deadline_s: float,
    runner: ToolRunner,
    key: str = "",
) -> ToolAnswer:
    """Carries out one call on the session's state.

    Errors: `EpisodeFailure` (environment) when the tool's own code raises or takes longer than `deadline_s` seconds;
    `EpisodeOver` when it gives the episode a command after its end.
    """
    tool = tools.get(call.name)
    if tool is None or not tool.offered_to(caller.name):
        offered = [name for name, other in tools.items() if other.offered_to(caller.name)]
        return _refused(f"there is no tool {call.name!r}; the tools are: {', '.join(offered) or 'none'}")
    try:
        values = tool.arguments.read(call.arguments or "{}")
    except BadArguments as error:
        return _refused(f"bad arguments for {call.name}: {error}")
    if tool.was_brought:
        values = {"name": call.name, "arguments": values}
    if tool.key_parameter:
        values[tool.key_parameter] = IdempotencyKey(key)
    try:
        result = await runner.run(tool, environment, state, caller, values, deadline_s)
        return _in_bounds(call.name, ToolAnswer(as_text(result)))
    except ToolError as error:
        refused = _refused(str(error)) if error.content is None else ToolAnswer(error.content, str(error))
        return _in_bounds(call.name, refused)
    except (EpisodeFailure, EpisodeOver):
        raise
    except Exception as error:
        raise EpisodeFailure(FailureKind.ENVIRONMENT, f"tool {call.name}", describe(error)) from error


def _in_bounds(name: str, answer: ToolAnswer) -> ToolAnswer:
    """Refuses an answer that is too long, which would burden the conversation and everything that the episode is
    written to; the caller is told.
    """
    longest = max(len(answer.content), len(answer.error or ""))
    if longest <= LONGEST_RESULT:
        return answer
    return _refused(
        f"the result of {name} is {longest:,} characters long, and may have {LONGEST_RESULT:,}: ask for less"
    )


def _refused(message: str) -> ToolAnswer:
    return ToolAnswer(json.dumps({"error": message}, ensure_ascii=False), error=message)
