"""Plays scenes in a process of its own with another hash seed: `python -m ray_gym.check.other_process` with a pickled subject."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence

from ray_gym.check.evidence import as_json
from ray_gym.check.scenes import Scene, Theatre
from ray_gym.check.subject import Subject
from ray_gym.errors import RunFailed

DEADLINE_S = 600


async def play_elsewhere(subject: Subject, scenes: Sequence[Scene], hash_seed: int) -> list[str]:
    """The records, as JSON. Errors: RunFailed if the process could not be used."""
    command = [sys.executable, "-m", "ray_gym.check.other_process"]
    paths = os.pathsep.join(path or "." for path in sys.path)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": paths},
    )
    try:
        async with asyncio.timeout(DEADLINE_S):
            out, errors = await process.communicate(pickle.dumps((subject, list(scenes))))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise RunFailed(f"a process that plays again failed: {errors.decode(errors='replace')[-2000:]}")
    rows: list[str] = pickle.loads(out)
    return rows


async def _play_all(subject: Subject, scenes: Sequence[Scene]) -> list[str]:
    theatre = Theatre(subject)
    try:
        return [as_json((await theatre.play(scene)).row) for scene in scenes]
    finally:
        await theatre.runner.close()


def main() -> None:
    rows_to = os.dup(1)
    os.dup2(2, 1)  # what the environment prints is no record
    subject, scenes = pickle.load(sys.stdin.buffer)
    rows = asyncio.run(_play_all(subject, scenes))
    with os.fdopen(rows_to, "wb") as out:
        pickle.dump(rows, out)


if __name__ == "__main__":
    main()
