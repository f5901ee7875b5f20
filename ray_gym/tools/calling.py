"""Carries out the tool calls of an episode: finds the tool, reads its arguments, and runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ray_gym.aio.leaked import is_end_from_outside, no_leaked_cancellation, running_task
from ray_gym.errors import EpisodeFailure, Failure, FailureKind, leaves
from ray_gym.messages import ToolCall
from ray_gym.sandbox.sandbox import SandboxGone, SandboxRefused
from ray_gym.stop import EpisodeOver
from ray_gym.tools.answer import IdempotencyKey, ToolAnswer, ToolError, as_text
from ray_gym.tools.arguments import BadArguments

if TYPE_CHECKING:
    from ray_gym.tools.runner import ToolRunner
from ray_gym.tools.tool import Tool

LONGEST_QUOTED = 200
"""Characters of a call that can't be read which the answer quotes."""
LONGEST_RESULT = 1_000_000
"""Largest number of characters of one answer: a longer one would fit into no conversation."""


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
    """Carries out one call on the episode's state, and returns the answer. Mistakes of the caller (an unknown tool, bad
    arguments), a ToolError of the tool, what a sandbox refuses, and results that are too long become answers with an error.

    `tools`: the tools by name. `caller`: the participant that calls. `key`: the idempotency key, for a tool with an
    effect. Errors: EpisodeFailure (environment) if the tool's own code raises another exception, takes longer than
    `deadline_s` seconds, or gives a result that JSON can't hold; EpisodeFailure (infra) if the worker has no threads
    left, or the sandbox has ended; an EpisodeFailure that the tool raises; EpisodeOver if the tool gives the episode a
    command after its end.
    """
    tool = tools.get(call.name)
    if not call.name:
        return _refuse(
            f"this call can't be read: {call.arguments[:LONGEST_QUOTED]!r}; give a name and arguments as JSON"
        )
    if tool is None or not tool.offered_to(caller.name):
        offered = [name for name, other in tools.items() if other.offered_to(caller.name)]
        return _refuse(f"there is no tool {call.name!r}; the tools are: {', '.join(offered) or 'none'}")
    try:
        values = tool.arguments.read(call.arguments)
    except BadArguments as error:
        return _refuse(f"bad arguments for {call.name}: {error}")
    if tool.method is not None:
        values = {"name": call.name, "arguments": values}
    if tool.key_parameter:
        values[tool.key_parameter] = IdempotencyKey(key)
    task = running_task()
    try:
        with no_leaked_cancellation():
            result = await runner.run(tool, environment, state, caller, values, deadline_s)
        return _limit_length(call.name, ToolAnswer(as_text(result)))
    except ToolError as error:
        return _limit_length(call.name, _refused_by(error))
    except SandboxRefused as error:
        return _limit_length(call.name, _refuse(str(error)))
    except SandboxGone as error:
        raise EpisodeFailure(FailureKind.INFRA, "sandbox", str(error)) from error
    except (EpisodeFailure, EpisodeOver):
        raise
    except BaseException as error:
        if is_end_from_outside(error, task):
            raise
        if isinstance(error, BaseExceptionGroup) and (told := engines_own(error)) is not None:
            raise told from error
        refusals = [leaf for leaf in leaves(error) if isinstance(leaf, ToolError)]
        if len(refusals) == len(leaves(error)):
            return _limit_length(call.name, _refused_by(refusals[0]))
        code = tool.method or getattr(type(environment), call.name, None)
        raise EpisodeFailure.of(Failure.of(error, f"tool {call.name}", code=code)) from error


def _limit_length(name: str, answer: ToolAnswer) -> ToolAnswer:
    """Returns the answer itself. If its content or its error is longer than `LONGEST_RESULT` characters, returns an
    answer with an error about that.
    """
    longest = max(len(answer.content), len(answer.error or ""))
    if longest <= LONGEST_RESULT:
        return answer
    return _refuse(
        f"the result of {name} is {longest:,} characters long, and may have {LONGEST_RESULT:,}: ask for less"
    )


def _refuse(message: str) -> ToolAnswer:
    return ToolAnswer(json.dumps({"error": message}, ensure_ascii=False), error=message)


def _refused_by(error: ToolError) -> ToolAnswer:
    if error.content is not None:
        return ToolAnswer(error.content, str(error))
    return _refuse(str(error) or "it was refused")


def engines_own(error: BaseException) -> EpisodeFailure | EpisodeOver | None:
    """Returns the engine's own exception in a group of exceptions, which has to pass as it is: a failure of the
    episode, or else its end if there is nothing else in the group. None if there is neither.
    """
    inner = leaves(error)
    failure = next((one for one in inner if isinstance(one, EpisodeFailure)), None)
    over = next((one for one in inner if isinstance(one, EpisodeOver)), None)
    return failure or (over if all(isinstance(one, EpisodeOver) for one in inner) else None)
