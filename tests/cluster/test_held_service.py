"""What RayService names, brought up by `serve deploy` (which sends what KubeRay's operator sends), on CPU with the small model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml
from conftest import REPOSITORY, eventually, free_port
from manifests import INSTALLED, pools_of_raylets, serve_config

from deployments.held_service.holder import driver_environment

TOKEN = "a-callers-token-of-the-tests-0123456789"
ON_CPU = [
    f"models.{name}.{override}"
    for name in ("policy", "user")
    for override in (
        "model=smollm2-135m-instruct",
        "gpus=0",
        "replicas=1",
        "tensor_parallel=1",
        "engine_args={enforce_eager: true, max_model_len: 4096, max_num_seqs: 4, block_size: 32, kv_cache_memory_bytes: 536870912}",
    )
]


@dataclass(frozen=True)
class Held:
    address: str
    environment: dict[str, str]
    config: dict[str, Any]
    folder: Path

    def deploy(self, config: dict[str, Any]) -> None:
        file = self.folder / "serve.yaml"
        file.write_text(yaml.safe_dump(config))
        self._serve("deploy", str(file))

    def applications(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load(self._serve("status"))["applications"]
        return found

    def replicas(self) -> list[dict[str, Any]]:
        """Actors of Serve, with the labels of their nodes."""
        script = (
            "import json, ray\n"
            "from ray.util.state import list_actors\n"
            "ray.init(log_to_driver=False)\n"
            "labels = {node['NodeID']: node['Labels'] for node in ray.nodes()}\n"
            "found = list_actors(filters=[('state', '=', 'ALIVE')], limit=1000)\n"
            "print(json.dumps([{'name': a.name, 'pool': labels[a.node_id].get('pool')} for a in found]))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        listed: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
        return listed

    def _serve(self, command: str, *arguments: str) -> str:
        serve = str(Path(sys.executable).parent / "serve")
        done = subprocess.run(
            [serve, command, *arguments, "--address", self.environment["RAY_GYM_TEST_JOBS"]],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def held(self) -> list[psutil.Process]:
        """The processes of `ray-gym serve`."""
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if "deployments.held_service.held" in (line := process.info["cmdline"] or [])
            and str(self.folder) in " ".join(line)
        ]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    folder, port = tmp_path_factory.mktemp("held"), free_port()
    config = serve_config()
    config["http_options"]["port"] = port
    arguments = config["applications"][0]["args"]
    arguments["config"] = arguments["config"].replace(INSTALLED, f"{REPOSITORY}/")
    arguments["overrides"] = [*ON_CPU, f"service.port={port}", f"output.dir={folder}", "fanout.workers=1"]
    variables = {
        "RAY_GYM_CALLERS": f"trainer={TOKEN}",
        "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "deployments.gateway.proxy.middlewares",
    }
    with pools_of_raylets(**variables) as environment:
        held = Held(f"http://127.0.0.1:{port}", environment, config, folder)
        held.deploy(config)
        eventually(lambda: is_up(held), 270)
        yield held


def is_up(held: Held) -> bool:
    status = held.applications()["service"]
    assert status["status"] != "DEPLOY_FAILED", status
    return bool(status["status"] == "RUNNING")


def get(held: Held, path: str, token: str | None = TOKEN) -> httpx.Response:
    return httpx.get(held.address + path, headers={"Authorization": f"Bearer {token}"} if token else {}, timeout=30)


@pytest.mark.ray
@pytest.mark.engine
@pytest.mark.timeout(400)
def test_the_application_of_ray_service_brings_the_service_up_in_its_pools(service: Held) -> None:
    """The small model has no time to play well here: what counts is that both models answer, where they are, and that it ends well."""
    assert get(service, "/readyz").json() == {"status": "ready", "models": ["policy", "user"]}
    assert get(service, "/v1/rollouts", token=None).status_code == 401
    assert get(service, "/-/routes").status_code == 404 and get(service, "/-/healthz").text == "success"
    pools = {actor["name"]: actor["pool"] for actor in service.replicas()}
    found = {name.split("#")[1]: pool for name, pool in pools.items() if (name or "").startswith("SERVE_REPLICA")}
    placed = {pool for name, pool in pools.items() if (name or "").startswith("SERVE_REPLICA::service#service")}
    assert placed == {"cpu"}, pools
    assert {pool for name, pool in pools.items() if "service-pools-policy" in (name or "")} == {"policy"}, found
    assert {pool for name, pool in pools.items() if "service-pools-user" in (name or "")} == {"user"}, found
    asked = {"model": "user", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
    answer = httpx.post(
        f"{service.address}/v1/chat/completions", json=asked, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60
    )
    assert answer.status_code == 200, answer.text


@pytest.mark.ray
@pytest.mark.engine
@pytest.mark.timeout(400)
def test_a_service_that_ended_is_started_again_and_goes_with_its_application(service: Held) -> None:
    [before] = service.held()
    os.kill(before.pid, signal.SIGTERM)
    eventually(lambda: [p for p in service.held() if p.pid != before.pid] and is_up(service), 240)
    assert get(service, "/readyz").json()["status"] == "ready"
    service.deploy({**service.config, "applications": []})
    eventually(lambda: not service.held() and not service.applications(), 120)


def test_the_command_is_a_driver_and_no_worker() -> None:
    worker = {
        "RAY_JOB_ID": "ffffffff",
        "RAY_RAYLET_PID": "7",
        "RAY_ADDRESS": "local",
        "RAY_AUTH_MODE": "token",
        "HOME": "/root",
    }
    driver = {"RAY_ADDRESS": "10.0.0.1:6379", "RAY_AUTH_MODE": "token", "HOME": "/root", "PYTHONUNBUFFERED": "1"}
    assert driver_environment(worker, "10.0.0.1:6379") == driver
