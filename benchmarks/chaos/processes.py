"""Finds the processes of a run by the titles that Ray gives them, even after their parents are gone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress

import psutil  # type: ignore[import-untyped]

OURS = ("ray::Worker", "ray::ServeReplica", "ray::Event", "ray::_Janitor")
"""Titles of processes that must be gone when a run has ended. Serve's controller is not among them: it belongs to the
cluster."""


class Processes:
    """Finds all descendants of this process.

    It remembers them, since the orphans of a dead raylet have another parent.
    """

    def __init__(self) -> None:
        self._seen: set[psutil.Process] = set()

    def alive(self) -> set[psutil.Process]:
        """Looks for descendants again, and returns those that are alive. The set is this object's, not a copy."""
        everything = {process: _parent(process) for process in psutil.process_iter()}
        known = {process for process in self._seen if process in everything and is_alive(process)}
        pids, size = {os.getpid(), *(process.pid for process in known)}, 0
        while len(pids) > size:
            size = len(pids)
            pids |= {process.pid for process, parent in everything.items() if parent in pids}
        found = {process for process in everything if process.pid in pids and process.pid != os.getpid()}
        self._seen = {process for process in found if is_alive(process)}
        return self._seen

    def find_processes(self, *titles: str) -> list[psutil.Process]:
        """Returns the living descendants whose title begins with one of `titles`, the oldest first."""
        found = [process for process in self.alive() if title_of(process).startswith(titles)]
        return sorted(found, key=lambda process: (float(process.create_time()), int(process.pid)))

    def below(self, pid: int) -> list[psutil.Process]:
        return [process for process in self.alive() if _parent(process) == pid]


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kills processes by SIGKILL, stopped ones included. Processes that are gone are ignored."""
    for process in processes:
        send(process, signal.SIGKILL)


def is_alive(process: psutil.Process) -> bool:
    """Says whether a process is alive. One that has ended and waits to be reaped is not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def title_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()).strip()
    except psutil.Error:
        return ""


def describe(process: psutil.Process) -> str:
    parent = process.parent() if is_alive(process) else None
    below = f", below {parent.pid} {title_of(parent)[:60]}" if parent else ""
    return f"process {process.pid} {title_of(process)[:100]}{below}"


def send(process: psutil.Process, number: signal.Signals) -> None:
    """Sends a signal, unless the process is gone."""
    with suppress(psutil.Error):
        process.send_signal(number)


def _parent(process: psutil.Process) -> int | None:
    try:
        return int(process.ppid())
    except psutil.Error:
        return None
