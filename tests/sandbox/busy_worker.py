"""Runs as a worker that plays many episodes in sandboxes of a pool, four at a time, whatever happens to them.

python busy_worker.py KIND WORD EPISODES
"""

from __future__ import annotations

import asyncio
import sys

from ray_gym.plugins import find_sandbox
from ray_gym.sandbox import SandboxLimits, SandboxPool

SCRIPT = "trap '' TERM; setsid sleep {word} & mkdir a b; touch a/file; (sleep {word} &); sleep 0.1; echo played"


async def main(kind: str, word: str, episodes: str) -> None:
    opener = find_sandbox(kind, "worker")()
    limits = SandboxLimits(memory_mb=128, processes=64, seconds=3600, disk_mb=16)
    pool = SandboxPool(lambda: opener.open(limits), ahead=2, most=6)
    left = list(range(int(episodes)))

    async def play() -> None:
        while left:
            left.pop()
            try:
                async with pool.take() as sandbox:
                    end = await sandbox.run(["sh", "-c", SCRIPT.format(word=word)])
                    print(end.stdout.decode().strip() or end.ended, flush=True)
            except Exception as error:
                print(type(error).__name__, flush=True)

    await asyncio.gather(*(play() for _ in range(4)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
