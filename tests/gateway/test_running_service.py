"""Checks the running service: on its own address or not at all, for callers with a token, gone when told to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from conftest import PATIENT, REPOSITORY, eventually, free_port
from gateway_app import problem
from serving import ALONE

pytestmark = [pytest.mark.ray, pytest.mark.services]

TOKEN = "a-caller-of-the-tests-0123456789"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
CONFIG = """
environment: {{id: tic_tac_toe}}
tasks: {{generate: 2}}
models:
  small: {{engine: scripted, player: "ray_gym.envs.tic_tac_toe.players:random_player"}}
  slow: {{engine: scripted, player: "ray_gym.envs.tic_tac_toe.players:random_player", delay_s: 300}}
participants:
  policy: {{model: small}}
  user: {{model: small}}
output: {{dir: {folder}/runs}}
service: {{max_body_mb: 0.5, tokens: {{env: RAY_GYM_TEST_CALLERS}}}}
"""


def test_the_service_has_its_own_address_or_does_not_start(tmp_path: Path) -> None:
    config = tmp_path / "service.yaml"
    config.write_text(CONFIG.format(folder=tmp_path))
    others, port = free_port(), free_port()
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    own = {**PATIENT, "RAY_ADDRESS": "local", "RAY_AUTH_MODE": "disabled", "RAY_GYM_TEST_CALLERS": f"tester={TOKEN}"}
    script = REPOSITORY / "tests" / "gateway" / "run_service.py"
    with subprocess.Popen(
        [sys.executable, str(script), str(config), str(others), str(port)],
        env={**inherited, **own, "PYTHONPATH": str(REPOSITORY)},
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as service:
        try:
            assert service.stdout is not None
            said = []
            for line in service.stdout:
                said.append(line.rstrip())
                if line.startswith("ready: "):
                    break
            assert said[-1:] == [f"ready: http://127.0.0.1:{port}"], said
            told = "\n".join(said)
            assert f"refused: service.port: Serve is up at http://127.0.0.1:{others}" in told
            assert f"taken: http://127.0.0.1:{others}" in said and "still there: True" in said
            ask(f"http://127.0.0.1:{port}")
            with ThreadPoolExecutor() as threads:
                being_answered = threads.submit(ask_slow_model, f"http://127.0.0.1:{port}")
                eventually(lambda: in_flight(f"http://127.0.0.1:{port}") == 1, 30)
                service.terminate()
                rest = service.stdout.read()
            told_at_the_end = problem(being_answered.result(), 503)
            assert told_at_the_end["code"] == "unavailable" and int(being_answered.result().headers["Retry-After"]) > 0
            assert service.wait(timeout=60) == 0, rest
        finally:
            service.kill()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/healthz")
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path != config]
    assert kept and all(TOKEN.encode() not in path.read_bytes() for path in kept)
    assert TOKEN not in told + rest
    assert "SIGTERM" not in rest  # as Ray's own handler reports it


def ask_slow_model(address: str) -> httpx.Response:
    body = {"model": "slow", "messages": [{"role": "user", "content": "You play X. Your turn"}]}
    return httpx.post(f"{address}/v1/chat/completions", json=body, headers=AUTHORIZED, timeout=120)


def in_flight(address: str) -> float:
    lines = httpx.get(f"{address}/metrics", headers=AUTHORIZED, timeout=30).text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("ray_gym_http_requests_in_flight{"))


def ask(address: str) -> None:
    with httpx.Client(base_url=address, timeout=30) as http:
        assert http.get("/healthz").json() == {"status": "ok"}
        assert http.get("/readyz").status_code == 401
        http.headers.update(AUTHORIZED)
        ready = http.get("/readyz")
        assert ready.json() == {"status": "ready", "models": ["small", "slow"]}
        assert len(ready.headers.get_list("x-request-id")) == 1  # Serve's proxy gives it, and nobody else does
        assert "/v1/environments" in http.get("/openapi.json").json()["paths"]
        assert 'route="/readyz",status="200"' in http.get("/metrics").text
        large = http.post("/v1/environments", content=b"x" * 2**20, headers={"Content-Type": "application/json"})
        assert large.status_code == 413 and large.json()["error"]["code"] == "body_too_large"


def test_a_service_in_the_background_of_a_script_answers_sigint(tmp_path: Path) -> None:
    """A shell has programs that its scripts start in the background ignore SIGINT."""
    command = [sys.executable, "-m", "ray_gym", "serve", "configs/service_scripted.yaml"]
    overrides = [f"output.dir={tmp_path}", f"service.port={free_port()}"]
    with subprocess.Popen(
        [*command, *overrides],
        env=ALONE,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    ) as service:
        try:
            assert service.stdout is not None
            next(line for line in service.stdout if line.startswith("ready: "))
            service.send_signal(signal.SIGINT)
            rest = service.stdout.read()
            assert service.wait(timeout=60) == 0, rest
        finally:
            service.kill()
    assert "stopping\n" in rest and "graceful_shutdown failed" not in rest
