"""Measures CPU time and memory of a process and its descendants from outside.

The watch runs in the process that starts the measured one, so it does not slow the measured one down.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

import numpy as np
import psutil  # type: ignore[import-untyped]

Result = TypeVar("Result")

LOOK_EVERY_S = 0.25
"""Seconds between two looks. CPU time that a process uses after the last look at it is missed."""

Role = Literal["worker", "replica", "other"]
TITLES: dict[Role, str] = {"worker": "ray::Worker", "replica": "ray::ServeReplica"}


class MeasurementFailed(Exception):
    """Says that a measurement covers nothing, or only a part of the work."""


@dataclass(slots=True)
class ResourceTrace:
    """Holds the titles of a process, and its CPU time (seconds since its start) and resident memory (bytes) at `times`."""

    titles: set[str]
    times: list[float]
    cpu_s: list[float]
    memory: list[int]

    @property
    def role(self) -> Role:
        """Returns the role of the process by the titles that Ray gave it: worker, replica or other.

        Raylet, GCS, agents and idle workers are `other`.
        """
        found = [role for role, title in TITLES.items() if any(known.startswith(title) for known in self.titles)]
        return found[0] if found else "other"

    def cpu_between(self, start: float, end: float) -> float:
        """Returns the CPU seconds that the process used between two times, interpolated between looks."""
        first, last = np.interp([start, end], self.times, self.cpu_s)
        return float(last - first)


@dataclass(frozen=True, slots=True)
class Cost:
    """Holds the CPU seconds of processes between two times, and the largest sum of their resident memory at one moment."""

    cpu_s: float
    peak_bytes: int

    @staticmethod
    def of(traces: list[ResourceTrace], start: float, end: float) -> Cost:
        held: dict[float, int] = {}
        for trace in traces:
            for at, memory in zip(trace.times, trace.memory, strict=True):
                if start <= at <= end:
                    held[at] = held.get(at, 0) + memory
        return Cost(sum(trace.cpu_between(start, end) for trace in traces), max(held.values(), default=0))


@dataclass(frozen=True, slots=True)
class Costs:
    """Holds the costs of groups of processes.

    `others` are Ray's own processes, `double` is the stand-in for a model server, and `ours` is driver, workers and
    replicas together.
    """

    driver: Cost
    workers: Cost
    replicas: Cost
    others: Cost
    double: Cost
    ours: Cost


@dataclass(slots=True)
class Watch:
    """Samples a process and its descendants until it is closed. It keeps the traces of processes that have ended.

    Times are seconds of `time.time()`, which all processes of a machine share.
    """

    pid: int
    traces: dict[psutil.Process, ResourceTrace] = field(default_factory=dict)
    machine: ResourceTrace = field(default_factory=lambda: ResourceTrace(set(), [], [], []))
    _closing: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def costs(self, start: float, end: float, double: int | None = None) -> Costs:
        """Returns the costs of each group of processes between two times.

        `double` is the process id of the double, whose cost is counted apart; None: there is none.
        """
        by: dict[str, list[ResourceTrace]] = {"worker": [], "replica": [], "other": [], "driver": [], "double": []}
        for process, trace in self.traces.items():
            by["driver" if process.pid == self.pid else "double" if process.pid == double else trace.role].append(trace)
        groups = [by[name] for name in ("driver", "worker", "replica", "other", "double")]
        return Costs(*(Cost.of(traces, start, end) for traces in [*groups, [*groups[0], *groups[1], *groups[2]]]))

    def cores_elsewhere(self, start: float, end: float) -> float:
        """Returns the mean number of cores that other programs kept busy between two times.

        The larger it is, the less figures of speed say.
        """
        watched_s = sum(trace.cpu_between(start, end) for trace in self.traces.values())
        return max(0.0, self.machine.cpu_between(start, end) - watched_s) / (end - start)

    def _look_on(self) -> None:
        self._look()
        while not self._closing.wait(LOOK_EVERY_S):
            self._look()
        self._look()

    def _look(self) -> None:
        try:
            root = psutil.Process(self.pid)
            alive = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        now = time.time()
        self.machine.times.append(now)
        self.machine.cpu_s.append(_busy_s())
        for process in alive:
            try:
                with process.oneshot():
                    times, memory, title = process.cpu_times(), process.memory_info().rss, process.cmdline()[:1]
                    new = ResourceTrace(set(), times=[process.create_time()], cpu_s=[0.0], memory=[0])
                    trace = self.traces.setdefault(process, new)
            except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                continue
            trace.titles.update(title)
            trace.times.append(now)
            trace.cpu_s.append(times.user + times.system)
            trace.memory.append(memory)


def run_watched(function: Callable[..., Result], *arguments: Any) -> tuple[Result, Watch]:
    """Calls a function in a fresh process, watches that process, and returns the function's result and the watch.

    Errors: MeasurementFailed if the process ends without a result, such as by an exception, whose traceback is on
    stderr.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_deliver, args=(sender, function, arguments))
    process.start()
    sender.close()  # otherwise the end of the process would not be noticed
    assert process.pid is not None
    try:
        with Watch(process.pid) as watch:
            result: Result = receiver.recv()
    except EOFError:
        process.join()
        raise MeasurementFailed(f"{function.__name__} ended with exit code {process.exitcode} and no result") from None
    process.join()
    return result, watch


def _deliver(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    sender.send(function(*arguments))


def machine() -> dict[str, Any]:
    """Returns facts that figures depend on, by name: CPU, cores, memory, and the versions of Python and Ray."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "ray": version("ray"),
    }


def _busy_s() -> float:
    """Returns the CPU seconds of the whole machine since it started."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + getattr(times, "irq", 0) + getattr(times, "softirq", 0))


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
