"""The files of cluster/, read; and a cluster of raylets that has their pools, on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from conftest import RAY, REPOSITORY, free_port, stop_cluster

CLUSTER = REPOSITORY / "cluster"
INSTALLED = "/opt/ray_gym/"
"""Where the image has the repository."""


def documents(file: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((CLUSTER / file).read_text()))


def document(file: str) -> dict[str, Any]:
    [found] = documents(file)
    return found


def serve_config() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(document("kuberay/service.yaml")["spec"]["serveConfigV2"])
    return found


@contextmanager
def pools_of_raylets(**variables: str) -> Iterator[dict[str, str]]:
    """Starts a head without CPUs and a raylet for each pool. Yields the environment that reaches them;
    RAY_GYM_TEST_JOBS is the address of the dashboard.
    """
    folder = tempfile.mkdtemp(prefix="ray_gym_test_")  # short: Ray puts sockets below it
    port, dashboard = free_port(), free_port()
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "PYTEST_"))}
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a-token-of-the-tests-only-0123456789"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**inherited, **token, "PATH": path, "PYTHONPATH": str(REPOSITORY), **variables}
    common = ["--disable-usage-stats", "--node-ip-address=127.0.0.1", "--object-store-memory=100000000"]
    head = [f"--port={port}", f"--dashboard-port={dashboard}", f"--temp-dir={folder}", "--num-cpus=0"]
    try:
        _start(environment, "--head", "--labels=pool=head", *head, *common)
        for pool in ("cpu", "policy", "user"):
            _start(environment, f"--address=127.0.0.1:{port}", "--num-cpus=4", f"--labels=pool={pool}", *common)
        yield {
            **environment,
            "RAY_ADDRESS": f"127.0.0.1:{port}",
            "RAY_GYM_TEST_JOBS": f"http://127.0.0.1:{dashboard}",
            "RAY_GYM_TEST_FOLDER": folder,
        }
    finally:
        stop_cluster(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _start(environment: dict[str, str], *options: str) -> None:
    done = subprocess.run([RAY, "start", *options], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
