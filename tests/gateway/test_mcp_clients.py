"""Checks that a session's MCP server answers further clients: fastmcp's, and that of version 1 of the package mcp."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from conftest import free_port
from mcp_servers import serving
from reader_venvs import readers_python
from session_door import PATH, opened

SCRIPT = Path(__file__).with_name("called_by_fastmcp.py")


@pytest.mark.trainers
async def test_fastmcp_and_version_1_of_the_package(tmp_path: Path) -> None:
    python, port = readers_python(), free_port()
    async with opened(tmp_path) as door, serving(door.app, port):
        url = f"http://127.0.0.1:{port}{PATH}"
        running = await asyncio.create_subprocess_exec(
            python, SCRIPT, url, door.key, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        printed, errors = await running.communicate()
        assert running.returncode == 0, errors.decode()[-3000:]
        fast, first = json.loads(printed.splitlines()[-1])
        state = door.session.episode.state
    assert (fast["ping"], fast["tools"], fast["server"]) == (True, ["take"], "ray_gym")
    assert fast["taken"] == '{"taken": 1}' and "bad arguments for take: item: " in fast["error"]
    assert first == {"version": "2025-11-25", "session": None, "tools": ["take"], "taken": [False, '{"taken": 2}']}
    assert state == ["pen", "book"]
