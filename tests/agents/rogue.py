"""Plays a participant in a hostile way: what it hears is the name of one of these functions, which it runs.

python rogue.py
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FLOOD = 1100
MB = 2**20
LONG = 10
PATH = "/openai/chat/completions"
MOST_CLOSED = 1952
DAEMON = ("sleep", "86439")


def post(body: bytes, key: str = "", timeout: float = 600) -> Any:
    """Sends a body to the door, and returns the text of the answer, or the code of the refusal."""
    headers = {"Authorization": f"Bearer {key or os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        return json.load(error)["error"]["code"] or error.code


def asked(text: str) -> bytes:
    return json.dumps({"model": "policy", "messages": [{"role": "user", "content": text}]}).encode()


def door() -> tuple[str, int]:
    place = urlsplit(os.environ["OPENAI_BASE_URL"])
    assert place.hostname is not None and place.port is not None
    return place.hostname, place.port


def head(length: int, more: str = "") -> bytes:
    key = f"Authorization: Bearer {os.environ['OPENAI_API_KEY']}"
    return f"POST {PATH} HTTP/1.1\r\nHost: x\r\n{key}\r\nContent-Length: {length}\r\n{more}\r\n".encode()


def converse(said: Callable[[int], str], count: int) -> None:
    """Makes calls that go on from each other, and tells the last answer."""
    past: list[dict[str, str]] = []
    for number in range(count):
        past.append({"role": "user", "content": said(number)})
        past.append({"role": "assistant", "content": post(json.dumps({"model": "policy", "messages": past}).encode())})
        time.sleep(0.2)
    print(past[-1]["content"])


def plays_well() -> None:
    converse("call {}".format, 3)


def plays_long(who: str) -> None:
    converse(lambda number: f"{who}: {number}", LONG)


def tells_the_time(who: str) -> None:
    """Asks something else whenever it is started."""
    start = time.time_ns()
    converse(lambda number: f"{who}: {number} since {start}", LONG)


def never_calls() -> None:
    print("I need no model")


def sleeps() -> None:
    time.sleep(3600)


def calls_for_ever() -> None:
    """Uses its steps up by a flood, and then goes on to call."""
    floods()
    while True:
        post(asked("once more"))


def floods() -> None:
    """Makes 1,100 calls at once, and counts the answers and the refusals."""

    async def call(number: int) -> bytes:
        reader, writer = await asyncio.open_connection(*door())
        body = asked(f"flood {number}")
        writer.write(head(len(body)) + body)
        status = await reader.readline()
        writer.close()
        return status.split()[1]

    async def flood() -> list[bytes]:
        return await asyncio.gather(*map(call, range(FLOOD)))

    statuses = asyncio.run(flood())
    print({each.decode(): statuses.count(each) for each in sorted(set(statuses))})


def sends_20_mb() -> None:
    print(post(asked("x" * 20 * MB)), post(asked("after")))


def sends_20_mb_many_times() -> None:
    """Sends 20 MB that are no JSON on each of 12 connections at once."""
    body = b"x" * 20 * MB

    def send(line: socket.socket) -> bytes:
        with contextlib.suppress(OSError):
            line.sendall(head(len(body)))
            line.sendall(body)
        return line.recv(100).split()[1]

    lines = [socket.create_connection(door(), timeout=60) for _ in range(12)]
    with ThreadPoolExecutor(len(lines)) as pool:
        statuses = list(pool.map(send, lines))
    print({each.decode() for each in statuses}, post(asked("after")))


def sends_compressed_bodies() -> None:
    """Sends ten small bodies that unpack to 28 MB each."""
    body = gzip.compress(b'{"messages": [' + b"1," * (14 * MB) + b"1]}")
    statuses = set()
    for _ in range(10):
        with socket.create_connection(door(), timeout=60) as line:
            line.sendall(head(len(body), "Content-Encoding: gzip\r\n") + body)
            statuses.add(line.recv(100).split()[1].decode())
    print(statuses, post(asked("after")))


def sends_half_a_body() -> None:
    """Leaves a connection in the middle of a body, closes another there, and goes on."""
    left, closed = (socket.create_connection(door()) for _ in range(2))
    for line in (left, closed):
        line.sendall(head(100) + b"{")
    closed.close()
    print(post(asked("after")))


def sends_halves_of_large_bodies() -> None:
    """Leaves 20 connections in the middle of bodies of 30 MB, and goes on."""
    most = b"x" * 29 * MB
    lines = [socket.create_connection(door(), timeout=0.1) for _ in range(20)]
    for line in lines:
        with contextlib.suppress(OSError):
            line.sendall(head(30 * MB))
            line.sendall(most)
    print(post(asked("after")))


def opens_many_connections() -> None:
    """Opens 4,000 connections, which is more than it may, and counts those that are closed."""
    lines = [socket.create_connection(door()) for _ in range(4000)]
    closed, poll, ends = set(), select.poll(), time.monotonic() + 5
    for line in lines:
        poll.register(line, select.POLLIN)
    while len(closed) < MOST_CLOSED and time.monotonic() < ends:
        for descriptor, _ in poll.poll(100):
            poll.unregister(descriptor)
            closed.add(descriptor)
    for line in lines:
        line.close()
    print(len(closed), post(asked("after")))


def sends_another_key() -> None:
    print(post(asked("as another"), key="rg-of-another-episode"))


def forks_daemons() -> None:
    post(asked("before"))
    for _ in range(10):
        subprocess.Popen(DAEMON, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    print("ten daemons")


def forks_for_ever() -> None:
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def ignores_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.run(["sh", "-c", "trap '' TERM HUP INT; sleep 86439"], check=False)
    while True:
        time.sleep(1)


def fills_the_disk() -> None:
    with Path("big").open("wb") as file:
        while True:
            file.write(bytes(MB))


def eats_memory() -> None:
    held = []
    while True:
        held.append(b"1" * MB)


def hides_memory() -> None:
    held = []
    while True:
        held.append(mmap.mmap(-1, MB))
        held[-1].write(b"1" * MB)


def kills_its_parent() -> None:
    subprocess.Popen(DAEMON, start_new_session=True)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3600)


def kills_all() -> None:
    with contextlib.suppress(OSError):
        os.kill(-1, signal.SIGKILL)
    time.sleep(3600)


def floods_its_output() -> None:
    for _ in range(200):
        sys.stdout.write("o" * MB)
        sys.stderr.write("e" * MB)


def speaks_no_text() -> None:
    sys.stdout.buffer.write(bytes(range(256)) + b"\xed\xb2\x80\x00")
    sys.stderr.buffer.write(bytes(range(256)))


def reads_the_worker() -> None:
    """Looks for the environment, the memory and the files of other processes."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        for name in ("environ", "mem", "maps", "root/etc/passwd", "cwd/."):
            with contextlib.suppress(OSError):
                path = place / name
                path.open("rb").close() if path.is_file() else list(path.iterdir())
                if int(place.name) != os.getpid():
                    found.add(f"{name} of {(place / 'comm').read_text().strip()}")
    print(sorted(found), len([*Path("/proc").glob("[0-9]*")]))


def connects_to_ports() -> None:
    """Tries all ports below 11,000, those of Ray's services among them, and the sockets of Ray and of the system."""
    open_ports = []
    for port in range(1, 11_000):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=0.2):
            open_ports.append(port)
    with contextlib.suppress(OSError), socket.create_connection(("192.0.2.1", 80), timeout=1):
        open_ports.append(0)
    print(open_ports == [door()[1]], [str(path) for path in Path("/tmp").glob("ray*")])


def writes_outside() -> None:
    written = []
    for place, folders, _ in os.walk("/"):
        folders[:] = [each for each in folders if each not in ("proc", "sandbox")]
        with contextlib.suppress(OSError):
            (Path(place) / "ray_gym_rogue").touch()
            written.append(place)
    print([place for place in written if place not in ("/dev/shm",)])


if __name__ == "__main__":
    deed, *about = sys.stdin.read().strip().split(": ")
    globals()[deed.replace(" ", "_")](*about)
