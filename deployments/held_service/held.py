"""Runs `ray-gym`, and has it told to end when the process that started it is gone, however that ended.

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
    _, parent, *command = sys.argv
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != int(parent):  # it was gone before that
        sys.exit(1)
    sys.argv = ["ray-gym", *command]
    main()


if __name__ == "__main__":
    main_under_parent()
