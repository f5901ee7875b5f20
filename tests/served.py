"""Runs a service until the tests have done with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from conftest import REPOSITORY, eventually, free_port
from serving import ALONE, end, serving

from ray_gym.client import Client
from ray_gym.load import load

ENVIRONMENTS = REPOSITORY / "tests" / "gateway"
"""Folder of the environments that are made for it."""
CALLER = "tester"
TOKEN = "an-agent-of-the-tests-0123456789"


@dataclass(frozen=True)
class Served:
    url: str
    folder: Path
    """Folder of the service."""
    pid: int

    def client(self) -> Client:
        return Client(self.url, TOKEN)

    def calls(self) -> float:
        """Returns how many calls of models the gateway has finished, well or not."""
        return self.metric("ray_gym_http_requests_total{", "completions")

    def is_idle(self) -> bool:
        """Says whether the service answers nobody, so that all calls are counted."""
        return self.in_flight() == 0

    def in_flight(self) -> float:
        return self.metric("ray_gym_http_requests_in_flight{")

    def metric(self, name: str, part: str = "") -> float:
        """Returns the sum of a metric's series whose labels have that part."""
        with self.client() as client:
            lines = client.metrics().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name) and part in line)

    def kill_workers(self) -> None:
        """Kills the workers of the service's sessions."""
        for process in psutil.Process(self.pid).children(recursive=True):
            if "SessionWorker" in " ".join(process.cmdline()):
                process.kill()

    def row(self, environment: str, session_id: str) -> dict[str, Any]:
        """Returns the row of a session that was scored, once it is committed."""
        run = self.folder / "sessions" / environment.replace(":", ".")

        def found() -> dict[str, Any] | None:
            rows = load(run).episodes.to_pylist() if list(run.glob("episodes/*.parquet")) else []
            return next((row for row in rows if row["episode_id"] == session_id), None)

        row: dict[str, Any] = eventually(found, 30)
        return row


@contextmanager
def served(config: str, folder: Path, cluster: dict[str, str] | None = None) -> Iterator[Served]:
    """Runs a service on a cluster of its own, or on one that stands."""
    path, log, port = folder / "service.yaml", folder / "service.log", free_port()
    path.write_text(config)
    own = {"RAY_GYM_TEST_CALLERS": f"{CALLER}={TOKEN}", "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{ENVIRONMENTS}"}
    overrides = [
        f"service.port={port}", f"output.dir={folder}/runs", "output.roll_s=0.2",
        "service.tokens.env=RAY_GYM_TEST_CALLERS",
    ]  # fmt: skip
    with serving(path, {**(cluster or ALONE), **own}, log, *overrides) as service:
        yield Served(f"http://127.0.0.1:{port}", folder / "runs" / "service", service.pid)
        end(service, log, signal.SIGTERM)
