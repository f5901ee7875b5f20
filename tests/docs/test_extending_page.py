"""Tests docs/extending.md: its package is installed and used by the real commands, its changes are made and asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from extending import FILES, change, command, copied, run_in, write_files

import ray_gym

TOOL = """
import asyncio
from ray_gym import Environment, tool
from ray_gym.tools.runner import ToolRunner

class Slow(Environment):
    @tool(deadline_s=0.05)
    async def wait(self, state, caller) -> str:
        await asyncio.sleep(60)
        return "late"

try:
    asyncio.run(ToolRunner().run(Slow.tools["wait"], Slow(), None, None, {}, 60))
except TimeoutError as error:
    print(error)
"""

LIMIT = """
import asyncio
from ray_gym.envs.session_counter import SessionCounter
from ray_gym.testing import call_of, generated, play_task

environment = SessionCounter()
name = next(iter(environment.tools))
players = {"policy": lambda request: call_of(name, "{}")}
played = asyncio.run(play_task(environment, generated(environment, 0), players, limits={"max_tool_calls": 2}))
print(played.episode.stop.reason, played.episode.stop.text, played.episode.usage.model_calls)
"""

ENDPOINT = """
import socket, threading, types
import uvicorn
from ray_gym import Client
from ray_gym.config.sections import ServiceSection
from ray_gym.deployments.gateway.app import AppSlots, make_app
from ray_gym.deployments.gateway.doors.general import general_routes
from ray_gym.deployments.gateway.guards.auth import Doorkeeper
from ray_gym.deployments.gateway.metrics import Metrics
from ray_gym.service.api import ServiceLimits
from tests.gateway.test_every_endpoint import test_an_endpoint_is_whole

class Here:
    async def ask(self, method, *arguments):
        return await method(service, *arguments)

service = types.SimpleNamespace(_limits=ServiceLimits(max_episodes=7, max_sessions=3))
section = ServiceSection()
slots = AppSlots.of(section)
metrics = Metrics("g", slots.requests, slots.streams)
app = make_app(section, Doorkeeper(b"s" * 32, {}), metrics, slots, [general_routes(Here(), metrics)])
taken = socket.create_server(("127.0.0.1", 0))
server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
thread.start()
with Client(f"http://127.0.0.1:{taken.getsockname()[1]}") as client:
    print(client.limits())
    print("/v1/limits" in client.openapi()["paths"])
server.should_exit = True
thread.join()
test_an_endpoint_is_whole("GET", "/v1/limits")
"""


@pytest.fixture(scope="module")
def extras(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a folder with the files of the page, and its package installed in `site`."""
    folder = tmp_path_factory.mktemp("extras")
    write_files(folder)
    [package] = command("pip install ")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", "site", package], cwd=folder, check=True, timeout=120, capture_output=True)
    return folder


def command_line(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `ray-gym` where the package is installed, and ray_gym itself is."""
    paths = f"{folder / 'site'}:{Path(ray_gym.__file__).parents[1]}"
    return subprocess.run(
        [sys.executable, "-m", "ray_gym", *arguments],
        cwd=folder,
        env={**environment, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_the_engine_is_small() -> None:
    assert len(FILES["extras/canned_engine.py"].splitlines()) <= 40


@pytest.mark.docs
def test_bad_options_are_told(extras: Path, tmp_path: Path) -> None:
    """Both are found before Ray is started."""
    rollout, export = command("ray-gym rollout "), command("ray-gym export ")
    done = command_line(extras, dict(os.environ), "rollout", *rollout, "models.canned.path=nowhere")
    assert done.returncode == 2 and "models.canned.path: there is no file nowhere" in done.stderr
    done = command_line(extras, dict(os.environ), "export", export[0], "reward=1", *export[2:])
    assert done.returncode == 2 and "reward: --form words has no such option; known: min_reward" in done.stderr


@pytest.mark.ray
@pytest.mark.docs
def test_an_engine_and_a_form_of_another_package(extras: Path, cluster: dict[str, str]) -> None:
    done = command_line(extras, cluster, "rollout", *command("ray-gym rollout "))
    assert done.returncode == 0, done.stdout + done.stderr
    done = command_line(extras, cluster, "export", *command("ray-gym export "))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in (extras / "words.jsonl").read_text().splitlines()]
    assert len(lines) == 4 and {line["words"] for line in lines} == {FILES["lines.txt"].strip()}


def test_a_tool_option(tmp_path: Path) -> None:
    change(copied(tmp_path), "A tool option")
    assert run_in(tmp_path, "-c", TOOL) == "no result within tool_deadline_s (0.05 s)\n"


def test_a_limit(tmp_path: Path) -> None:
    change(copied(tmp_path), "A limit")
    assert run_in(tmp_path, "-c", LIMIT) == "max_tool_calls 2 tool calls 2\n"


@pytest.mark.docs
def test_an_endpoint(tmp_path: Path) -> None:
    change(copied(tmp_path), "An HTTP endpoint")
    assert run_in(tmp_path, "-c", ENDPOINT) == "max_episodes=7 max_sessions=3\nTrue\n"
