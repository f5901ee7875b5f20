"""Holds library functions for tests: a module of its own, which the processes of an `IsolatedPool` import."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np


class Nested:
    @staticmethod
    def half() -> float:
        return 0.5


def give(value: Any) -> Any:
    return value


def give_set() -> set[int]:
    return {1}


def never() -> None:
    threading.Event().wait()


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def leave() -> None:
    os._exit(3)


def kill_its_parent() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    threading.Event().wait()


def fail(message: str) -> None:
    raise LookupError(message)


def hoard() -> None:
    kept = []
    while True:
        kept.append(bytearray(2**20))


def count(path: str) -> float:
    """Returns how often it was called."""
    with Path(path).open("a") as calls:
        calls.write("x")
    return float(len(Path(path).read_text()))


def parent() -> int:
    return os.getppid()


def give_circle() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


def half_of(number: int) -> np.float32:
    return np.float32(number / 2)
