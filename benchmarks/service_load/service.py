"""Starts `ray-gym serve` with a cluster of its own, and finds its processes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import yaml

from benchmarks.chaos.processes import kill, title_of
from benchmarks.measure import MeasurementFailed

ROOT = Path(__file__).resolve().parents[2]
READY = "ready: "
WORKERS = 2
"""Number of workers that hold sessions."""
STOP_S = 120
KINDS = {
    "ray::ServeReplica:service-gateway": "gateway",
    "ray::service-service": "Service actor",
    "ray::Service": "Service actor",
    "ray::SessionWorker": "session worker",
    "ray::SERVE_PROXY_ACTOR": "Serve's proxy",
    "ray::ProxyActor": "Serve's proxy",
    "ray::ServeController": "Serve's controller",
    "ray::SERVE_CONTROLLER_ACTOR": "Serve's controller",
}
"""Kinds of the service's processes by the beginning of their titles."""


@dataclass(slots=True)
class ServiceProcess:
    """Holds a running `ray-gym serve`, and finds and kills processes that belong to it."""

    process: subprocess.Popen[str]
    address: str
    directory: Path
    said: list[str] = field(default_factory=list)
    """Lines that it has printed."""

    def processes(self) -> dict[int, str]:
        """Returns the kinds of the service's long-lived processes, by process id."""
        found = {self.process.pid: "ray-gym serve"}
        for process in psutil.Process(self.process.pid).children(recursive=True):
            title = title_of(process)
            if kind := next((kind for begins, kind in KINDS.items() if title.startswith(begins)), None):
                found[process.pid] = kind
        return found

    def kill_one(self, kind: str) -> None:
        """Kills one process of this kind by SIGKILL. Errors: MeasurementFailed if there is none."""
        if (pid := next((pid for pid, found in self.processes().items() if found == kind), None)) is None:
            raise MeasurementFailed(f"there is no {kind} to kill")
        os.kill(pid, signal.SIGKILL)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        self.said.extend(line.rstrip() for line in self.process.stdout)


@contextlib.contextmanager
def start_service(folder: Path, concurrency: int) -> Iterator[ServiceProcess]:
    """Starts the service for the block, and yields it.

    `concurrency`: number of episodes of a rollout in flight. Errors: MeasurementFailed if it does not come up, or ends
    with another exit code than 0; TimeoutExpired if it does not end within STOP_S seconds.
    """
    config = folder / "service.yaml"
    port = _free_port()
    config.write_text(yaml.safe_dump(_config(folder, port, concurrency)))
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    environment = {**inherited, "RAY_ADDRESS": "local", "RAY_AUTH_MODE": "disabled", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "ray_gym", "serve", str(config)]
    with subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        service = ServiceProcess(process, f"http://127.0.0.1:{port}", folder / "runs" / "service")
        try:
            assert process.stdout is not None
            for line in process.stdout:
                service.said.append(line.rstrip())
                if line.startswith(READY):
                    break
            else:
                raise MeasurementFailed("\n".join(["the service did not come up:", *service.said]))
            listening = threading.Thread(target=service._listen, daemon=True)
            listening.start()
            yield service
            process.terminate()
            if code := process.wait(timeout=STOP_S):
                raise MeasurementFailed(f"the service ended with {code}: {service.said[-1:]}")
        finally:
            _end(process)


def _config(folder: Path, port: int, concurrency: int) -> dict[str, object]:
    player = "ray_gym.envs.tic_tac_toe.players:random_player"
    return {
        "environment": {"id": "tic_tac_toe"},
        "tasks": {"generate": 2},
        "models": {
            "quick": {"engine": "scripted", "player": player, "delay_s": 0.05},
            "slow": {"engine": "scripted", "player": player, "delay_s": 0.5},
        },
        "participants": {"policy": {"model": "quick"}, "user": {"model": "quick"}},
        "fanout": {"workers": 1, "concurrency": concurrency},
        "output": {"dir": str(folder / "runs"), "roll_s": 1},
        "service": {"port": port, "session_workers": WORKERS},
    }


def _end(process: subprocess.Popen[str]) -> None:
    """Kills the process and its descendants, unless it has ended by itself."""
    if process.poll() is None:
        left = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        kill(left)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
