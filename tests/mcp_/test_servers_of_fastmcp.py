"""Checks that a server of fastmcp, and so of version 1 of the package mcp, is called as all others."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp_servers import Counting
from playing_tasks import call_of, play_task, says
from reader_venvs import readers_python

from ray_gym import Task
from ray_gym.mcp.options import McpServer


@pytest.mark.trainers
async def test_a_server_of_fastmcp() -> None:
    server = Path(__file__).with_name("fastmcp_server.py")
    environment = Counting(counter=McpServer(command=(str(readers_python()), str(server)), start_s=120))
    calls = [call_of("add", '{"amount": 2}'), call_of("add", '{"amount": -1}'), call_of("add", '{"amount": 3}')]
    played = await play_task(environment, Task(task_id="t"), {"policy": says(*calls, "Done.")})
    assert played.status == "completed", played.failure
    told = [(event.content, event.error) for event in played.episode.events if event.kind == "tool_result"]
    assert told == [("2", None), ("nothing is taken away here",) * 2, ("5", None)]
