"""Runs a `ray-gym` command that gets SIGTERM when the process that started it dies, however that dies.

python -m ray_gym.deployments.held_service.held PID COMMAND...     PID is the parent's
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from ray_gym.cli import main

_PR_SET_PDEATHSIG = 1


def main_under_parent() -> None:
    """Runs the `ray-gym` command in this process's arguments, after it has asked the kernel for a SIGTERM at the
    parent's death. It exits with 1 if the parent is dead already.
    """
    _, parent, *command = sys.argv
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != int(parent):  # it died before the call of prctl
        sys.exit(1)
    sys.argv = ["ray-gym", *command]
    main()


if __name__ == "__main__":
    main_under_parent()
