"""Starts real resources servers for the tests, and drives their conversations over HTTP by hand, not by NemoGym."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from conftest import free_port
from reader_venvs import nemo_python

from ray_gym import Message

LAUNCHER = Path(__file__).with_name("nemo_server.py")
UP_WITHIN_S = 90


@dataclass(frozen=True)
class Server:
    url: str
    rows: list[dict[str, Any]]
    """Its own examples."""


@contextmanager
def running(name: str) -> Iterator[Server]:
    python, port = nemo_python(), free_port()
    process = subprocess.Popen([str(python), str(LAUNCHER), name, str(port)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        folder = process.stdout.readline().strip()
        assert folder, "the server did not start"
        _wait_for(f"http://127.0.0.1:{port}", process)
        lines = (Path(folder) / "data" / "example.jsonl").read_text().splitlines()
        yield Server(f"http://127.0.0.1:{port}", [json.loads(line) for line in lines])
    finally:
        process.kill()
        process.wait()


def _wait_for(url: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + UP_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"{url}/health")
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise TimeoutError(f"{url} is not up")


def drive_tools(server: Server, row: dict[str, Any], said: Sequence[Message]) -> tuple[float, list[str]]:
    """Returns the reward of a conversation, and the answers to its calls."""
    items: list[dict[str, Any]] = []
    outputs = []
    with httpx.Client(base_url=server.url, timeout=30) as client:  # keeps the cookies
        client.post("/seed_session", json=row).raise_for_status()
        for message in said:
            items += _items(message)
            for call in message.tool_calls:
                outputs.append(client.post(f"/{call.name}", content=call.arguments, headers=_JSON).text)
                items.append({"type": "function_call_output", "call_id": call.id, "output": outputs[-1]})
        verdict = client.post("/verify", json={**row, "response": _response(items)}).raise_for_status().json()
    return verdict["reward"], outputs


def drive_steps(server: Server, row: dict[str, Any], said: Sequence[Message]) -> tuple[float, list[str]]:
    """Returns the sum of the rewards, and what the policy was told."""
    told, reward = [], 0.0
    with httpx.Client(base_url=server.url, timeout=30) as client:
        told.append(client.post("/reset", json=row).raise_for_status().json()["observation"])
        for message in said:
            sent = {**row, "response": _response(_items(message))}
            step = client.post("/step", json=sent).raise_for_status().json()
            reward += step["reward"]
            if step["terminated"] or step["truncated"]:
                break
            told += [given["output"] for given in step["info"].get("tool_outputs", [])] + [step["observation"]]
    return reward, [text for text in told if text]


_JSON = {"Content-Type": "application/json"}


def _items(message: Message) -> list[dict[str, Any]]:
    text = [{"type": "output_text", "text": message.content, "annotations": []}]
    said = [{"type": "message", "id": "m", "role": "assistant", "content": text}] if message.content else []
    calls = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return said + calls


def _response(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    named = {"id": "r", "created_at": 0, "model": "m", "object": "response"}
    return {**named, "output": items, "parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
