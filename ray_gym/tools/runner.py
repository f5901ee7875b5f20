"""Runs tools on the event loop, in a thread, or in a process of their own. There is one runner in each worker."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from ray_gym.aio.clock import running_clock
from ray_gym.tools.answer import within
from ray_gym.tools.blocking import BlockingPool
from ray_gym.tools.isolated import IsolatedCall, IsolatedPool, process_slots
from ray_gym.tools.library import Libraries
from ray_gym.tools.tool import Tool


class ToolRunner:
    """Runs the tools of all episodes of a worker. It starts no thread and no process before a tool needs one."""

    def __init__(self, processes: int | None = None) -> None:
        """Creates a runner. `processes`: number of isolated calls that run at once, by default one for each CPU."""
        self.processes = process_slots(processes)
        self.blocking = BlockingPool()
        self.isolated = IsolatedPool(self.processes)
        self.libraries = Libraries(self.processes)

    async def run(
        self, tool: Tool, environment: Any, state: Any, caller: Any, values: dict[str, Any], deadline_s: float
    ) -> Any:
        """Runs a tool, and returns its result; that of an isolated tool is text. The `deadline_s` seconds start when
        the tool does, and leave out the waits of models that an async tool asks. A tool that is neither async nor
        blocking nor isolated has no deadline.

        Errors: TimeoutError after the deadline; those that the tool raises. For an isolated tool, all but ToolError and
        EpisodeFailure become EpisodeFailure (environment), as does the death of its process; TypeError if its state
        can't be pickled. EpisodeFailure (infra) if this worker has no threads left.
        """
        if tool.options.isolated:
            return await self.isolated.run(
                environment, IsolatedCall(tool.schema.name, state, caller, values, tool.options.memory_mb), deadline_s
            )
        method = partial(tool.method or getattr(environment, tool.schema.name), state, caller, **values)
        if tool.options.blocking:
            return await self.blocking.run(tool.schema.name, method, deadline_s)
        result = method()
        return await within(result, deadline_s, running_clock()) if inspect.isawaitable(result) else result

    async def close(self) -> None:
        """Kills the processes, and ends the idle threads. Stuck threads stay until this process exits."""
        self.blocking.close()
        await self.isolated.close()
        await self.libraries.close()
