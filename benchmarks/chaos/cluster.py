"""Starts a Ray cluster of several raylets on one machine. Its head is never killed, and has no workers or replicas."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray.cluster_utils import Cluster

from benchmarks.chaos.processes import Processes

CPUS = 8
"""Number of logical CPUs of a raylet; the machine may have fewer."""
OBJECT_STORE_BYTES = 80 * 2**20


@dataclass(slots=True)
class Raylets:
    """Holds the nodes of the cluster. Raylets are added to them, and killed ones are taken out."""

    cluster: Cluster
    processes: Processes
    nodes: list[Any] = field(default_factory=list)
    """Nodes beside the head; dead ones are taken out."""

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def add(self) -> None:
        self.nodes.append(self.cluster.add_node(num_cpus=CPUS, object_store_memory=OBJECT_STORE_BYTES))

    def raylets(self) -> set[int]:
        """Returns the process ids of the raylets that may be killed."""
        return {_raylet(node).pid for node in self.nodes}

    def take_out(self, pid: int) -> subprocess.Popen[bytes]:
        """Takes a killed raylet out of the nodes, and returns its process, which may not have ended yet.

        Errors: ValueError if no node has a raylet with this process id.
        """
        (node,) = (node for node in self.nodes if _raylet(node).pid == pid)
        self.nodes.remove(node)
        return _raylet(node)


def _raylet(node: Any) -> subprocess.Popen[bytes]:
    process: subprocess.Popen[bytes] = node.all_processes["raylet"][0].process
    return process


@contextmanager
def start_raylets(count: int, processes: Processes) -> Iterator[Raylets]:
    """Starts a head and `count` more raylets, yields the raylets, and shuts everything down after the block."""
    directory = tempfile.mkdtemp(prefix="ray_gym_chaos_")  # short: Ray puts sockets below it
    logging.getLogger("ray").setLevel(logging.ERROR)
    os.environ.setdefault("RAY_worker_niceness", "0")
    Path("/tmp/ray").mkdir(exist_ok=True)  # Ray notes a cluster's address there, wherever its `temp_dir` is
    try:
        with (Path(directory) / "cluster.log").open("w") as log, redirect_stdout(log), redirect_stderr(log):
            head = {"num_cpus": 0, "object_store_memory": OBJECT_STORE_BYTES, "temp_dir": directory}
            cluster = Cluster(initialize_head=True, head_node_args={**head, "include_dashboard": False})
        try:
            found = Raylets(cluster, processes)
            for _ in range(count):
                found.add()
            yield found
        finally:
            processes.alive()
            with suppress(AssertionError):
                cluster.shutdown()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
