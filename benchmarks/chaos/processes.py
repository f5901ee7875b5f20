"""The processes of a chaos run: found by the titles that Ray gives them, and remembered after their parents are gone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

import psutil  # type: ignore[import-untyped]

OURS = ("ray::Worker", "ray::ServeReplica", "ray::Event", "ray::_Janitor")
"""What must be gone when a run has ended; Serve's controller belongs to the cluster."""


class Processes:
    """All that descends from this process, seen again and again: the orphans of a dead raylet have another parent."""

    def __init__(self) -> None:
        self._seen: set[psutil.Process] = set()

    def alive(self) -> set[psutil.Process]:
        """Look again."""
        everything = {process: _parent(process) for process in psutil.process_iter()}
        known = {process for process in self._seen if process in everything and is_alive(process)}
        pids, size = {os.getpid(), *(process.pid for process in known)}, 0
        while len(pids) > size:
            size = len(pids)
            pids |= {process.pid for process, parent in everything.items() if parent in pids}
        found = {process for process in everything if process.pid in pids and process.pid != os.getpid()}
        self._seen = {process for process in found if is_alive(process)}
        return self._seen

    def titled(self, *titles: str) -> list[psutil.Process]:
        """By age."""
        found = [process for process in self.alive() if title_of(process).startswith(titles)]
        return sorted(found, key=lambda process: (float(process.create_time()), int(process.pid)))

    def below(self, pid: int) -> list[psutil.Process]:
        return [process for process in self.alive() if _parent(process) == pid]


def kill(processes: Iterable[psutil.Process]) -> None:
    """Frozen ones too."""
    for process in processes:
        try:
            process.kill()
        except psutil.Error:
            continue


def is_alive(process: psutil.Process) -> bool:
    """One that has ended and waits to be reaped is not."""
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
    """Nothing, if it is gone."""
    try:
        process.send_signal(number)
    except psutil.Error:
        return


def _parent(process: psutil.Process) -> int | None:
    try:
        return int(process.ppid())
    except psutil.Error:
        return None
