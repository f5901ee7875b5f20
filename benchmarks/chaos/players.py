"""Defines the scripted player of policy and user.

It logs every finished call, so that calls that were made again can be counted.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.chat_environment import SENTENCES
from ray_gym import Message, ToolCall
from ray_gym.models.base import CompletionRequest

NONCE = re.compile(r"nonce-[0-9a-f]{16}")
LOOKS_UP_AT = (0, 3)
"""Numbers of the policy's calls in which it uses its tool."""


async def player(request: CompletionRequest, rng: random.Random, calls: str, nonce: bool = False) -> Message:
    """Answers as the policy or as the user, and logs the call. `calls` is the folder of the log.

    `nonce`: True to put random bytes into every answer.
    """
    number = sum(message.role == "assistant" for message in request.messages)
    secret = f" nonce-{os.urandom(8).hex()}" if nonce else ""
    text = rng.choice(SENTENCES) + secret
    if request.tools and request.thread == "policy" and number in LOOKS_UP_AT:
        stone = re.search(r"What kind of stone is (\w+)\?", "\n".join(m.content for m in request.messages))
        arguments = f'{{"stone":"{stone[1] if stone else "?"}"}}'
        call = ToolCall(f"call_{rng.getrandbits(32):08x}", "look_up", arguments)
        message = Message("assistant", secret.strip(), tool_calls=(call,))
    else:
        message = Message("assistant", text)
    _note(Path(calls), f"{time.time():.6f} {request.session_id} {request.seed} {request.thread} {number}\n")
    return message


def _note(folder: Path, line: str) -> None:
    """Appends a line to this process's file in `folder` by a single write."""
    descriptor = os.open(folder / f"{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class CallKey:
    """Identifies a call by its episode and its seed, which is derived from the try, the thread and the call's number."""

    episode: str
    seed: int


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """Holds the key of a finished call and its time (seconds of `time.time()`)."""

    at: float
    key: CallKey


@dataclass(slots=True)
class FinishedCalls:
    """Collects the calls that the players have logged. `read` reads those that were logged since the last time."""

    folder: Path
    calls: list[FinishedCall] = field(default_factory=list)
    times: Counter[CallKey] = field(default_factory=Counter)
    """Number of times that each call was finished."""
    _offsets: dict[Path, int] = field(default_factory=dict)

    def read(self) -> None:
        for path in self.folder.iterdir():
            with path.open("rb") as file:
                file.seek(self._offsets.get(path, 0))
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            self._offsets[path] = self._offsets.get(path, 0) + len(whole)
            for line in whole.decode().splitlines():
                at, episode, seed, *_ = line.split()
                key = CallKey(episode, int(seed))
                self.calls.append(FinishedCall(float(at), key))
                self.times[key] += 1

    @property
    def distinct(self) -> int:
        return len(self.times)
