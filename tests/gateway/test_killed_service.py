"""`ray-gym serve` on a standing cluster, killed: what it started goes, and the next one of its name takes its place."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from conftest import REPOSITORY, eventually, free_port, standing_cluster

pytestmark = pytest.mark.ray

CONFIG = """
environment: {{id: tic_tac_toe}}
tasks: {{generate: 2}}
models:
  small: {{engine: scripted, player: "envs.tic_tac_toe.players:random_player"}}
participants:
  policy: {{model: small}}
  user: {{model: small}}
fanout: {{workers: 1}}
output: {{dir: {folder}/runs}}
service: {{port: {port}}}
"""
LEFT = """
from ray import serve
import ray
apps = sorted(serve.status().applications)
actors = sorted(actor["name"].partition("|")[0] for actor in ray.util.list_named_actors(all_namespaces=True))
print([*apps, *(name for name in actors if not name.startswith("SERVE"))])
"""


@contextmanager
def serving(config: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    log = config.with_suffix(".log")
    log.write_bytes(b"")
    with log.open("wb") as output:
        service = subprocess.Popen(
            [sys.executable, "-m", "ray_gym", "serve", str(config)],
            env={**environment, "PYTHONPATH": str(REPOSITORY)},
            cwd=REPOSITORY,
            stdout=output,
            stderr=output,
        )
    try:
        eventually(lambda: service.poll() is not None or "ready: " in log.read_text(), 120)
        assert service.poll() is None, log.read_text()
        yield service
    finally:
        service.kill()
        service.wait()


def left(environment: dict[str, str]) -> str:
    """Applications of Serve, and actors with names that are not Serve's own."""
    program = f"import ray\nray.init(logging_level='ERROR', log_to_driver=False)\n{LEFT}"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip().splitlines()[-1]


def test_nothing_is_left_of_a_service_that_was_killed(tmp_path: Path) -> None:
    config, port = tmp_path / "service.yaml", free_port()
    config.write_text(CONFIG.format(folder=tmp_path, port=port))
    ready = f"http://127.0.0.1:{port}/readyz"
    with standing_cluster() as environment:
        with serving(config, environment) as first:
            assert httpx.get(ready, timeout=30).status_code == 200
            assert left(environment) == "['service-gateway', 'janitor', 'lease', 'service-service']"
            first.kill()
            with serving(config, environment) as second:  # at once
                assert httpx.get(ready, timeout=30).json() == {"status": "ready", "models": ["small"]}
                second.kill()
                second.wait()
                eventually(lambda: left(environment) == "[]", 60)
        gone = httpx.get(ready, timeout=30)
        assert gone.status_code == 503 and gone.json()["error"]["code"] == "unavailable"
        assert int(gone.headers["Retry-After"]) > 0
        with serving(config, environment) as third:
            assert httpx.get(ready, timeout=30).status_code == 200
            third.terminate()
            assert third.wait(timeout=60) == 0, config.with_suffix(".log").read_text()
        assert left(environment) == "[]"
