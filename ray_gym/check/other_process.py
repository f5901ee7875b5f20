"""A process of its own, with another hash seed, in which scenes are played again: `python -m ray_gym.check.other_process`.

Subjects and scenes go in, records come out, as pickles, until the input ends.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence

from ray_gym.check.scenes import Scene, Theatre, as_json
from ray_gym.check.subject import Subject
from ray_gym.errors import RunFailed


class OtherProcess:
    """A context manager; the process starts when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> OtherProcess:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def end(self) -> None:
        """From any thread."""
        if self._process is not None:
            self._process.kill()

    def play(self, subject: Subject, scenes: Sequence[Scene]) -> list[str]:
        """The records, as JSON. Blocks. Errors: RunFailed if the process died."""
        if self._process is None:
            self._process = _start()
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            pickle.dump((subject, list(scenes)), self._process.stdin)
            self._process.stdin.flush()
            rows: list[str] = pickle.load(self._process.stdout)
        except (OSError, EOFError) as error:
            raise RunFailed("the process that plays the episodes again has died; see above what it said") from error
        return rows


def _start() -> subprocess.Popen[bytes]:
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    paths = os.pathsep.join(path or "." for path in sys.path)
    return subprocess.Popen(
        [sys.executable, "-m", "ray_gym.check.other_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths},
    )


async def _play_all(subject: Subject, scenes: Sequence[Scene]) -> list[str]:
    theatre = Theatre(subject)
    try:
        return [as_json((await theatre.play(scene)).row) for scene in scenes]
    finally:
        await theatre.close()


def main() -> None:
    records_to = os.dup(1)
    os.dup2(2, 1)  # what the environment prints is no record
    with os.fdopen(records_to, "wb") as out:
        while True:
            try:
                subject, scenes = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            pickle.dump(asyncio.run(_play_all(subject, scenes)), out)
            out.flush()


if __name__ == "__main__":
    main()
