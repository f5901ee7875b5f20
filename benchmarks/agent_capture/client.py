"""Plays black-box clients, each of which has one conversation of ten calls: `python -m benchmarks.agent_capture.client`.

It knows nothing of what captures its calls: a base URL of chat completions and a key for each conversation are all that
it has. It writes HTTP itself, so that it costs little. What it did is printed as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import psutil  # type: ignore[import-untyped]
import uvloop

CALLS = 10
"""Number of calls of a conversation."""
LINGER_S = 1.0
"""Seconds for which connections stay open after the last answer: NeMo Gym records no call whose client has left."""
SYSTEM = "You are an agent that works in a folder by tools. " * 20
TASK = "Find the fault in the module, mend it, and say in one sentence what it was. " * 4
RESULT = "line 12: expected 4, got 5 in the third case of the table\n" * 6
"""Words of the client: a system prompt, a task, and what it says after each answer. They are made up."""
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Does something with a file of the folder, and tells how that went. " * 3,
            "parameters": {
                "type": "object",
                "properties": {part: {"type": "string", "description": "Text."} for part in ("path", "text", "mode")},
                "required": ["path"],
            },
        },
    }
    for name in ("read", "write", "edit", "run")
]


@dataclass(frozen=True, slots=True)
class Place:
    """Says where a conversation's calls go."""

    url: str
    """Base URL of chat completions, or `unix:PATH:URL` for a socket."""
    key: str
    model: str


@dataclass(slots=True)
class Tally:
    """Counts what the clients did."""

    calls: int = 0
    errors: list[str] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    """Seconds of each call."""


async def converse(place: Place, tally: Tally) -> asyncio.StreamWriter:
    """Has one conversation on a connection of its own, and returns the connection, which stays open."""
    socket, _, url = (
        place.url.removeprefix("unix:").partition(":") if place.url.startswith("unix:") else ("", "", place.url)
    )
    parts = urlsplit(url)
    if socket:
        reader, writer = await asyncio.open_unix_connection(socket, limit=2**22)
    else:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=2**22)
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]
    head = (
        f"POST {parts.path}/chat/completions HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {place.key}\r\n"
    )
    try:
        for number in range(CALLS):
            body = json.dumps({"model": place.model, "messages": messages, "tools": TOOLS}).encode()
            began = time.perf_counter()
            rest = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write((head + rest).encode() + body)
            status, answer = await read_answer(reader)
            tally.waits_s.append(time.perf_counter() - began)
            if status != 200:
                tally.errors.append(f"{status} {answer[:300]!r}")
                break
            said = json.loads(answer)["choices"][0]["message"]["content"]
            tally.calls += 1
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": f"{number}: {RESULT}"}]
    except (OSError, ValueError, EOFError) as error:
        tally.errors.append(repr(error))
    return writer


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Reads an answer with a length, or in chunks; returns its status and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    status = int(head.split(b" ", 2)[1])
    if b"content-length" in fields:
        return status, await reader.readexactly(int(fields[b"content-length"]))
    pieces = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        pieces.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return status, b"".join(pieces)


def cpu_of(pid: int) -> float:
    """Returns the CPU seconds of a process and all its descendants, up to now."""
    root = psutil.Process(pid)
    spent = [process.cpu_times() for process in (root, *root.children(recursive=True))]
    return float(sum(times.user + times.system for times in spent))


async def play(places: list[Place], at_once: int, host: int) -> dict[str, Any]:
    """Has all conversations, and returns figures. `host`: process that captures them."""
    slots, tally = asyncio.Semaphore(at_once), Tally()

    async def one(place: Place) -> asyncio.StreamWriter:
        async with slots:
            return await converse(place, tally)

    cpu, began = cpu_of(host), time.perf_counter()
    connections = await asyncio.gather(*map(one, places))
    seconds, cpu = time.perf_counter() - began, cpu_of(host) - cpu
    await asyncio.sleep(LINGER_S)
    for connection in connections:
        connection.close()
    waits = sorted(tally.waits_s)
    return {
        "calls": tally.calls,
        "seconds": seconds,
        "host_cpu_s": cpu,
        "p50_s": waits[len(waits) // 2] if waits else None,
        "errors": tally.errors[:3],
    }


def main() -> None:
    """Reads what to do from standard input: `{"places": [[url, key, model]], "at_once", "host"}`."""
    asked = json.loads(sys.stdin.read())
    places = [Place(*place) for place in asked["places"]]
    print(json.dumps(uvloop.run(play(places, asked["at_once"], asked["host"]))))


if __name__ == "__main__":
    main()
