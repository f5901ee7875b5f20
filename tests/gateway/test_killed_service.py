"""Kills `ray-gym serve` on a standing cluster, in parts and as a whole: sessions continue, what the service started is
stopped, and the next service of its name takes its place.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from signal import SIGTERM

import httpx
import pytest
from conftest import eventually, free_port, raylet_children, standing_cluster
from gateway_app import problem
from serving import end, serving

from ray_gym.client import Client, SessionRequest

pytestmark = [pytest.mark.ray, pytest.mark.chaos]

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
service: {{port: {port}, max_sessions: 4, session_workers: 1}}
"""
LEFT = """
from ray import serve
import ray
apps = sorted(serve.status().applications)
actors = sorted(actor["name"].partition("|")[0] for actor in ray.util.list_named_actors(all_namespaces=True))
print([*apps, *(name for name in actors if not name.startswith("SERVE"))])
"""


def left(environment: dict[str, str]) -> str:
    """Returns Serve's applications, and the actors whose names are not Serve's own."""
    program = f"import ray\nray.init(logging_level='ERROR', log_to_driver=False)\n{LEFT}"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip().splitlines()[-1]


def sessions_go_on(address: str, environment: dict[str, str]) -> None:
    """Sessions continue after the gateway's only replica and Serve's proxy have died, and one caller can't open more
    sessions than it may have.
    """
    with Client(address) as client:
        *_, session = (client.open_session(SessionRequest(seed=seed)) for seed in range(4))
        full = problem(httpx.post(f"{address}/v1/sessions", json={}, timeout=30), 429)
        assert full["message"].startswith("4 sessions are open, as many as there may be")
        dying = raylet_children(environment, "ServeReplica:service-gateway", "ProxyActor")
        assert len(dying) == 2
        for process in dying:
            process.kill()
        told = session.call_tool("make_move", {"position": 9})
        assert told.error and "position" in told.error
        assert session.score().score is not None


def test_what_goes_on_and_what_is_left_of_a_service_that_was_killed(tmp_path: Path) -> None:
    config, log, port = tmp_path / "service.yaml", tmp_path / "service.log", free_port()
    config.write_text(CONFIG.format(folder=tmp_path, port=port))
    address = f"http://127.0.0.1:{port}"
    ready = f"{address}/readyz"
    with standing_cluster() as environment:
        with serving(config, environment, log) as first:
            assert httpx.get(ready, timeout=30).status_code == 200
            assert left(environment) == "['service-gateway', 'janitor', 'lease', 'service-service']"
            sessions_go_on(address, environment)
            first.kill()
            with serving(config, environment, log) as second:  # at once
                assert httpx.get(ready, timeout=30).json() == {"status": "ready", "models": ["small"]}
                second.kill()
                second.wait()
                eventually(lambda: left(environment) == "[]", 60)
        gone = httpx.get(ready, timeout=30)
        assert gone.status_code == 503 and gone.json()["error"]["code"] == "unavailable"
        assert int(gone.headers["Retry-After"]) > 0
        with serving(config, environment, log) as third:
            assert httpx.get(ready, timeout=30).status_code == 200
            end(third, log, SIGTERM)
        assert left(environment) == "[]"
