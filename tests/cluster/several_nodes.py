"""Starts a Ray cluster with a raylet on each machine, as an operator would: by `ray start`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from machines import Machine, Machines, machines

RAY = str(Path(sys.executable).parent / "ray")
PORT = 6379
DASHBOARD_PORT = 8265
CPUS = 2
OBJECT_STORE_BYTES = 80 * 2**20
START_S = 120


@dataclass(slots=True)
class Cluster:
    machines: Machines
    temporary: str
    nodes: list[Machine] = field(default_factory=list)
    """Machines of the living nodes, the head's first."""

    @property
    def environment(self) -> dict[str, str]:
        """Gives the variables for commands that talk to the cluster."""
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "PYTEST_"))}
        path = (
            f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # jobs run the python that is first on it
        )
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a-token-of-the-tests-only-0123456789"}
        patient = {
            "RAY_raylet_start_wait_time_s": str(START_S),
            "RAY_worker_niceness": "0",
        }  # for a machine that is busy
        return {**inherited, **token, **patient, "PATH": path}

    @property
    def dashboard(self) -> str:
        return f"http://{self.nodes[0].address}:{DASHBOARD_PORT}"

    def add(self) -> Machine:
        machine = self.machines.add()
        self.nodes.append(machine)
        self._start(machine, f"--address={self.nodes[0].address}:{PORT}")
        return machine

    def start_head(self) -> None:
        machine = self.machines.add()
        self.nodes.append(machine)
        dashboard = (f"--dashboard-host={machine.address}", f"--dashboard-port={DASHBOARD_PORT}")
        self._start(machine, "--head", f"--port={PORT}", f"--temp-dir={self.temporary}", *dashboard)

    def kill(self, machine: Machine) -> None:
        """Kills all processes of a node."""
        self.nodes.remove(machine)
        machine.kill()

    def _start(self, machine: Machine, *how: str) -> None:
        limits = (f"--num-cpus={CPUS}", f"--object-store-memory={OBJECT_STORE_BYTES}", "--disable-usage-stats")
        command = [*machine.prefix, RAY, "start", *how, f"--node-ip-address={machine.address}", *limits]
        log = Path(self.temporary) / f"start-{machine.address}.log"
        with log.open("wb") as output:  # not a pipe: the daemons would keep it open
            done = subprocess.run(command, env=self.environment, stdout=output, stderr=output, timeout=START_S)
        if done.returncode:
            raise RuntimeError(f"ray start on {machine.address}: {log.read_text()[-2000:]}")


@contextmanager
def cluster(nodes: int) -> Iterator[Cluster]:
    """Starts a head and further nodes, `nodes` in all, for the block."""
    temporary = tempfile.mkdtemp(prefix="ray_gym_nodes_")  # short: Ray puts sockets below it
    try:
        with machines() as made:
            started = Cluster(made, temporary)
            started.start_head()
            for _ in range(nodes - 1):
                started.add()
            yield started
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
