"""Kills the processes of an engine whose replica is dead.

An engine is several processes, and a SIGKILL of the one that owns them can leave the others alive with all their
memory. A reaper is a small process that waits for its owner's end of a pipe to close, which the kernel does however the
owner dies. Then it kills every process that has the owner's mark, an environment variable that child processes inherit.

    python reaper.py MARK      (`watch` starts it by its path, so that it imports nothing else)
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

VARIABLE = "RAY_GYM_ENGINE_MARK"


def watch() -> subprocess.Popen[bytes]:
    """Starts a reaper process and returns it. Once this process is dead, the reaper kills all processes that this one
    has started after this call: they inherit a mark, an environment variable that this call sets.
    """
    mark = uuid.uuid4().hex
    unmarked = {key: value for key, value in os.environ.items() if key != VARIABLE}
    reaper = subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve()), mark],
        stdin=subprocess.PIPE,
        env=unmarked,
        start_new_session=True,  # signals to the owner's group are not for it
    )
    os.environ[VARIABLE] = mark
    return reaper


def kill_marked(mark: str) -> int:
    """Sends SIGKILL to every process with the mark, and returns their number. Processes of other users are left out."""
    wanted = f"{VARIABLE}={mark}".encode()
    killed = 0
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in environ.read_bytes().split(b"\0"):
                os.kill(int(environ.parent.name), signal.SIGKILL)
                killed += 1
        except OSError:  # gone meanwhile, or another user's
            continue
    return killed


if __name__ == "__main__":
    sys.stdin.buffer.read()  # returns when the owner is gone
    kill_marked(sys.argv[1])
