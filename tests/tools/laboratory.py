"""Defines an environment whose isolated tools misbehave. It is a module of its own, because a zygote imports it.

python laboratory.py FILE      (a worker to be killed: it calls `linger`, which writes to FILE who is alive)
"""

from __future__ import annotations

import asyncio
import ctypes
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ray_gym import Environment, Episode, Opening, Participant, Task, ToolError, tool
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.models.base import Sampling
from ray_gym.tools.runner import ToolRunner

CALLER = Participant("policy", "m", Sampling(), True, 1, 1)
seen: list[str] = []


class Laboratory(Environment[Task, Any]):
    def setup(self, task: Task, episode: Episode) -> dict[str, int]:
        return {"count": 1}

    def opening(self, task: Task, state: Any) -> Opening:
        return Opening(messages={"policy": "Add 3."})

    def score(self, state: dict[str, int], episode: Episode) -> float:
        return state["count"]

    @tool(isolated=True)
    def add(self, state: dict[str, int], caller: Participant, amount: int) -> dict[str, int]:
        state["count"] += amount
        seen.append(caller.name)
        return {"count": state["count"], "seen": len(seen)}

    @tool(isolated=True)
    async def slowly(self, state: Any, caller: Participant) -> str:
        await asyncio.sleep(0)
        return "done"

    @tool(isolated=True)
    def meet(self, state: str, caller: Participant, me: str, other: str) -> str:
        """Returns only when another call runs at the same time."""
        (Path(state) / me).touch()
        while not (Path(state) / other).exists():
            time.sleep(0.01)
        return "met"

    @tool(isolated=True)
    def linger(self, state: str, caller: Participant) -> str:
        """Starts processes, one of them in a session of its own, writes down who is alive, and never returns."""
        _write_whole(Path(state), [os.getppid(), os.getpid(), *_two_sleepers()])
        threading.Event().wait()
        return "never"

    @tool(isolated=True)
    def leave_behind(self, state: Any, caller: Participant) -> list[int]:
        return _two_sleepers()

    @tool(isolated=True, memory_mb=16)
    def hoard(self, state: Any, caller: Participant, small: bool) -> str:
        kept: list[Any] = []
        while True:
            kept.append([len(kept)] if small else bytearray(2**20))

    @tool(isolated=True)
    def crash(self, state: Any, caller: Participant) -> str:
        return str(1 / 0)

    @tool(isolated=True)
    def refuse(self, state: Any, caller: Participant) -> str:
        raise ToolError("the shop is closed")

    @tool(isolated=True)
    def refuse_in_its_words(self, state: Any, caller: Participant) -> str:
        raise ToolError("HTTP 422", content="closed")

    @tool(isolated=True)
    def blame(self, state: Any, caller: Participant) -> str:
        raise EpisodeFailure(FailureKind.JUDGE, "grader", "no grade")

    @tool(isolated=True)
    def leave(self, state: Any, caller: Participant, code: int, politely: bool) -> str:
        if politely:
            sys.exit(code)
        os._exit(code)

    @tool(isolated=True)
    def die(self, state: Any, caller: Participant) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return "dead"

    @tool(isolated=True)
    def kill_its_parent(self, state: Any, caller: Participant) -> str:
        os.kill(os.getppid(), signal.SIGKILL)
        threading.Event().wait()
        return "orphaned"

    @tool(isolated=True)
    def segfault(self, state: Any, caller: Participant) -> str:
        return str(ctypes.string_at(0))

    @tool(isolated=True)
    def shout(self, state: Any, caller: Participant) -> str:
        print("printed by python", flush=True)
        os.write(1, b"written to the descriptor\n")
        return f"shouted, and read {sys.stdin.read()!r}"

    @tool(isolated=True)
    def big(self, state: Any, caller: Participant, size: int) -> str:
        return "x" * size

    @tool(isolated=True)
    def order(self, state: Any, caller: Participant) -> list[str]:
        return list({f"item {number}" for number in range(100)})

    @tool(isolated=True)
    def give_nan(self, state: Any, caller: Participant) -> float:
        return math.nan

    @tool(isolated=True)
    def give_a_lambda(self, state: Any, caller: Participant) -> Any:
        return lambda: None


class Unloadable(Laboratory):
    def __setstate__(self, state: dict[str, Any]) -> None:
        raise ValueError("a part is missing")


def _two_sleepers() -> list[int]:
    return [subprocess.Popen(["sleep", "3600"], start_new_session=alone).pid for alone in (False, True)]


def _write_whole(path: Path, pids: list[int]) -> None:
    path.with_suffix(".part").write_text(" ".join(map(str, pids)))
    path.with_suffix(".part").rename(path)


async def _linger(path: str) -> None:
    await ToolRunner().run(Laboratory.tools["linger"], Laboratory(), path, CALLER, {}, 60)


if __name__ == "__main__":
    asyncio.run(_linger(sys.argv[1]))
