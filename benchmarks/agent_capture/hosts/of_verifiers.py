"""Captures black-box clients as verifiers does: `PYTHON of_verifiers.py MODEL_URL COUNT WAY`, in a venv with verifiers.

Each client has a session of its interception servers, by default 32 of them a server as in its evaluations, and its eval
client forwards the calls to MODEL_URL. Prints the places of COUNT conversations, and ends when its input is closed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack

from verifiers.v1.agent import AgentConfig
from verifiers.v1.clients import EvalClientConfig, ModelContext
from verifiers.v1.interception import ElasticInterceptionPool
from verifiers.v1.session import RolloutSession
from verifiers.v1.task import TaskData
from verifiers.v1.trace import AgentInfo, Trace, TraceTask

NAME = "double"


def session(model_url: str) -> RolloutSession:
    """Makes the session of a rollout that nothing but its calls belongs to."""
    endpoint = EvalClientConfig(base_url=model_url, api_key_var="BENCHMARK_KEY")
    task = TraceTask(type="Task", data=TaskData(prompt="Do it."))
    return RolloutSession(ModelContext(NAME, endpoint), Trace(task=task, agent=AgentInfo(config=AgentConfig())))


async def capture(model_url: str, count: int) -> None:
    """Serves the sessions until standard input is closed, and says how many calls they have."""
    sessions = [session(model_url) for _ in range(count)]
    async with ElasticInterceptionPool() as pool, AsyncExitStack() as slots:
        places = []
        for one in sessions:
            url, key, _ = await slots.enter_async_context(pool.acquire(one))
            places.append([f"{url}/v1", key, NAME])
        print(json.dumps(places), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        print(json.dumps({"calls": sum(len(one.trace.calls) for one in sessions)}), flush=True)


if __name__ == "__main__":
    os.environ["BENCHMARK_KEY"] = "none"
    asyncio.run(capture(sys.argv[1], int(sys.argv[2])))
