"""A worker in miniature for the watchdog to end: python watched.py MODE. Prints the charge, and what became of it otherwise."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import re
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from playing import Alone, ScriptModel, calls

from ray_gym import Episode, Participant, tool
from ray_gym.config.sections import LimitsSection
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.journal.stacks import StackFile
from ray_gym.models.base import Sampling
from ray_gym.play.play import play
from ray_gym.run.worker import watchdog
from ray_gym.run.worker.watchdog import Charge, Watchdog, memory_bytes

kept: list[bytearray] = []


class Sleepy(Alone):
    @tool()
    def nap(self, state: Any, caller: Participant) -> str:
        return snore()

    @tool()
    def hoard(self, state: Any, caller: Participant) -> str:
        while True:
            kept.append(bytearray(2**20))
            time.sleep(0.002)

    @tool()
    async def leak(self, state: Any, caller: Participant) -> str:
        while True:
            kept.append(bytearray(2**20))
            await asyncio.sleep(0.001)

    @tool()
    async def wait(self, state: Any, caller: Participant) -> str:
        await asyncio.sleep(3600)
        return "never"

    @tool()
    def look(self, state: Any, caller: Participant) -> str:
        return "nothing"

    @tool()
    def hold(self, state: Any, caller: Participant) -> str:
        return str(re.match(r"(a+)+$", "a" * 60 + "b"))

    @tool()
    def leave(self, state: Any, caller: Participant) -> str:
        os._exit(3)

    @tool(blocking=True)
    def leave_a_thread(self, state: Any, caller: Participant) -> str:
        os._exit(3)

    @tool()
    def crash(self, state: Any, caller: Participant) -> str:
        return str(ctypes.string_at(0))

    @tool()
    def fork(self, state: Any, caller: Participant) -> str:
        child = os.fork()
        if not child:
            os._exit(0)
        return str(os.waitpid(child, 0)[1])

    def score(self, state: Any, episode: Episode) -> float:
        time.sleep(3600)
        return 1.0


def snore(for_s: float = 3600) -> str:
    time.sleep(for_s)
    return "awake"


def tell(charge: Charge) -> None:
    print(json.dumps(asdict(charge)), flush=True)


def tell_and_hang(charge: Charge) -> None:
    tell(charge)
    threading.Event().wait()


def out_of_reach() -> bool:
    raise OSError("the disk is away")


async def play_one(name: str, attempt: int = 0) -> None:
    participant = Participant("policy", "m", Sampling(), True, 5, 5)
    model = ScriptModel([calls(name), "done"])
    stage = Stage(Sleepy(), {"policy": participant}, {"m": model}, LimitsSection())
    spec = EpisodeSpec(f"episode-{name}", "group", "task", 0, 0, "{}")
    await play(replace(spec, attempt=attempt), stage)


async def main(mode: str) -> None:
    limit = memory_bytes() + 200 * 2**20 if mode in ("hoard", "leak") else None
    on_end = tell_and_hang if mode == "hang" else tell
    is_fenced = {"fenced": lambda: True, "unreachable": out_of_reach}.get(mode, lambda: False)
    watchdog.ON_END_S = 0.5
    stuck_after_s = 20 if mode == "hoard" else 1.5  # it takes its memory first, however busy the machine is
    stacks = StackFile(Path(sys.argv[2]), 3.0) if len(sys.argv) > 2 else None
    dog = Watchdog(asyncio.get_running_loop(), stuck_after_s, limit, on_end, is_fenced, stacks)
    dog.start()
    if mode in ("nap", "look", "hoard", "leak", "hold", "leave", "leave_a_thread", "crash", "fork"):
        await asyncio.gather(play_one("wait"), play_one(mode, attempt=3))
    elif mode == "hang":
        snore()
    await asyncio.sleep(2.5)
    dog.stop()
    snore(2.2)  # nobody minds any more
    print("alive", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
