"""Runs as a worker that opens a sandbox, starts a program and a daemon in it, and waits to be killed.

python worker.py KIND WORD [OPTIONS]
"""

from __future__ import annotations

import asyncio
import json
import sys

from ray_gym.plugins import find_sandbox
from ray_gym.sandbox import SandboxLimits, SandboxPool


async def main(kind: str, word: str, options: str = "{}") -> None:
    found = find_sandbox(kind, "worker")
    opener = found(found.Options(**json.loads(options)))
    limits = SandboxLimits(memory_mb=128, processes=64, seconds=3600, disk_mb=16)
    pool = SandboxPool(lambda: opener.open(limits), ahead=1, most=3)
    async with pool.take() as sandbox:
        script = f"trap '' TERM HUP INT; setsid sleep {word} & chmod 000 locked; touch here; echo up; sleep {word}"
        await sandbox.write("locked/file", b"1")
        program = await sandbox.start(["sh", "-c", script])
        async for _ in program.output():
            while not pool.ready:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            print(sandbox.folder, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
