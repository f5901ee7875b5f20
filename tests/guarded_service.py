"""`ray-gym serve` with two callers, small limits, and a cluster of its own whose files are all in one folder: for tests from outside."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from conftest import free_port, stop_cluster
from serving import ALONE, end, serving

TOKENS = {"alice": "alices-token-of-the-attacks-0123456789", "bob": "bobs-token-of-the-attacks-0123456789"}
CONFIG = """
environment: {{id: tic_tac_toe}}
tasks: {{generate: 2}}
models:
  small: {{engine: scripted, player: "ray_gym.envs.tic_tac_toe.players:random_player"}}
participants:
  policy: {{model: small}}
  user: {{model: small}}
fanout: {{workers: 1}}
output: {{dir: {folder}/runs}}
service:
  max_body_mb: 1
  body_deadline_s: 1
  max_episodes: 4
  session_workers: 1
  tokens: {{env: RAY_GYM_TEST_CALLERS}}
  offers:
    words: {{environment: {{id: multi_step}}, participants: {{policy: {{model: small}}}}}}
"""


@dataclass(frozen=True)
class GuardedService:
    address: str
    folder: Path
    """Everything that it writes is below: its output, the cluster's session, and what it says."""

    @property
    def directory(self) -> Path:
        return self.folder / "runs" / "service"

    @property
    def said(self) -> Path:
        return self.folder / "said.log"

    @property
    def logs(self) -> list[Path]:
        return [self.said, *(path for path in (self.folder / "ray").rglob("logs/**/*") if path.is_file())]

    def client(self, caller: str = "alice") -> httpx.Client:
        headers = {"Authorization": f"Bearer {TOKENS[caller]}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=60)


@contextmanager
def guarded() -> Iterator[GuardedService]:
    folder = Path(tempfile.mkdtemp(prefix="ray_gym_test_"))  # short: Ray puts sockets below it
    config, port = folder / "service.yaml", free_port()
    config.write_text(CONFIG.format(folder=folder))
    callers = " ".join(f"{name}={token}" for name, token in TOKENS.items())
    service = GuardedService(f"http://127.0.0.1:{port}", folder)
    environment = {**ALONE, "RAY_TMPDIR": str(folder), "RAY_GYM_TEST_CALLERS": callers}
    try:
        with serving(config, environment, service.said, f"service.port={port}") as process:
            yield service
            end(process, service.said, signal.SIGINT)
    finally:
        stop_cluster(str(folder))
        shutil.rmtree(folder, ignore_errors=True)
