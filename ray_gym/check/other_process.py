"""Plays scenes again in a process of its own, with another hash seed: `python -m ray_gym.check.other_process`.

The process reads subjects with scenes as pickles from its standard input, until that ends. It writes the scenes'
records as pickles to its standard output.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence

from ray_gym.aio.exits import keep_exits
from ray_gym.check.finding import Finding
from ray_gym.check.scenes import Scene, Theatre, as_json
from ray_gym.check.subject import Subject
from ray_gym.check.waiting import WaitsForEver
from ray_gym.errors import RunFailed


class OtherProcess:
    """Starts the other process when it is first needed, and kills it when the `with` block is left."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> OtherProcess:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def end(self) -> None:
        """Kills the process, if it was started. Any thread may call it."""
        if self._process is not None:
            self._process.kill()

    def play(self, subject: Subject, scenes: Sequence[Scene], deadline_s: float) -> list[str]:
        """Plays scenes in the process and returns the record of each, as JSON text. Blocks.

        Errors: TimeoutError after `deadline_s` seconds, which kills the process; WaitsForEver if something in the
        environment does; RunFailed if the process died.
        """
        if self._process is None:
            self._process = _start()
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            self.end()

        timer = threading.Timer(deadline_s, end)
        timer.start()
        try:
            given = _ask(self._process, (subject, list(scenes)))
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.__exit__()
            if is_late.is_set():
                raise TimeoutError(f"no answer within {deadline_s:g} s") from error
            raise RunFailed("the process that plays the episodes again has died; see above what it said") from error
        finally:
            timer.cancel()
        if isinstance(given, Finding):
            raise WaitsForEver(given)
        return given


def _ask(process: subprocess.Popen[bytes], question: tuple[Subject, list[Scene]]) -> list[str] | Finding:
    assert process.stdin is not None and process.stdout is not None
    pickle.dump(question, process.stdin)
    process.stdin.flush()
    answer: list[str] | Finding = pickle.load(process.stdout)
    return answer


def _start() -> subprocess.Popen[bytes]:
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    paths = os.pathsep.join(path or "." for path in sys.path)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "ray_gym.check.other_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths},
    )


async def _play_all(subject: Subject, scenes: Sequence[Scene]) -> list[str] | Finding:
    keep_exits()
    theatre = Theatre.of(subject)
    try:
        return [as_json((await theatre.play(scene)).row) for scene in scenes]
    except WaitsForEver as error:
        return error.finding
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
