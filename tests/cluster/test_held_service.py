"""Checks the application of RayService, brought up by `serve deploy` (which sends what KubeRay's operator sends), on
CPU with the small model.
"""

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
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
import yaml
from conftest import REPOSITORY, eventually, free_port
from manifests import INSTALLED, pools_of_raylets, serve_config

from ray_gym.deployments.held_service import build
from ray_gym.deployments.held_service.holder import driver_environment
from ray_gym.errors import UserError

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
    folder: Path

    def deploy(self, config: dict[str, Any]) -> None:
        file = self.folder / "serve.yaml"
        file.write_text(yaml.safe_dump(config))
        self._serve("deploy", str(file))

    def applications(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load(self._serve("status"))["applications"]
        return found

    def actors(self) -> list[dict[str, Any]]:
        """Returns the living actors, with the pools of their nodes."""
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

    def processes(self) -> list[psutil.Process]:
        """Returns the processes of `ray-gym serve`."""
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if "ray_gym.deployments.held_service.held" in (line := process.info["cmdline"] or [])
            and str(self.folder) in " ".join(line)
        ]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    folder, port = tmp_path_factory.mktemp("held"), free_port()
    variables = {
        "RAY_GYM_CALLERS": f"trainer={TOKEN}",
        "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "ray_gym.deployments.gateway.proxy.middlewares",
    }
    with pools_of_raylets(**variables) as environment:
        yield Held(f"http://127.0.0.1:{port}", environment, folder)


def config_of(held: Held, *overrides: str, config: str | None = None) -> dict[str, Any]:
    """RayService's, for the paths and the port of this test; perhaps with another config of a service."""
    port = urlsplit(held.address).port
    made = serve_config()
    made["http_options"]["port"] = port
    arguments = made["applications"][0]["args"]
    arguments["config"] = str(REPOSITORY / (config or arguments["config"].removeprefix(INSTALLED)))
    arguments["overrides"] = [*overrides, f"service.port={port}", f"output.dir={held.folder}", "fanout.workers=1"]
    return made


def is_up(held: Held) -> bool:
    status = held.applications()["service"]
    assert status["status"] != "DEPLOY_FAILED", status
    return bool(status["status"] == "RUNNING")


def get(held: Held, path: str, token: str | None = TOKEN) -> httpx.Response:
    return httpx.get(held.address + path, headers={"Authorization": f"Bearer {token}"} if token else {}, timeout=30)


@pytest.mark.nodes
@pytest.mark.ray
def test_a_service_that_ended_is_started_again_and_goes_with_its_application(held: Held) -> None:
    open_to_callers = ["service.host=0.0.0.0", "service.tokens.env=RAY_GYM_CALLERS"]
    config = config_of(held, *open_to_callers, config="configs/service_scripted.yaml")
    held.deploy(config)
    eventually(lambda: is_up(held), 120)
    assert get(held, "/readyz").json()["status"] == "ready" and get(held, "/v1/rollouts", token=None).status_code == 401
    assert get(held, "/-/routes").status_code == 404 and get(held, "/-/healthz").text == "success"
    [before] = held.processes()
    os.kill(before.pid, signal.SIGKILL)
    eventually(lambda: [each for each in held.processes() if each.pid != before.pid] and is_up(held), 120)
    assert get(held, "/readyz").json()["status"] == "ready"
    held.deploy({**config, "applications": []})
    eventually(lambda: not held.processes() and not held.applications(), 60)


@pytest.mark.nodes
@pytest.mark.ray
@pytest.mark.engine
@pytest.mark.timeout(900)
def test_the_application_of_ray_service_brings_its_models_up_in_their_pools(held: Held) -> None:
    """Both are the small model here."""
    held.deploy(config_of(held, *ON_CPU))
    eventually(lambda: is_up(held), 700)
    assert get(held, "/readyz").json() == {"status": "ready", "models": ["policy", "user"]}
    pools = {actor["name"].split("#")[0]: actor["pool"] for actor in held.actors() if "#" in (actor["name"] or "")}
    models = {f"SERVE_REPLICA::service-pools-{name}": name for name in ("policy", "user")}
    assert pools.items() >= {"SERVE_REPLICA::service": "cpu", **models}.items()
    asked = {"model": "user", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = httpx.post(f"{held.address}/v1/chat/completions", json=asked, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text


def test_the_command_is_a_driver_and_no_worker() -> None:
    worker = {"RAY_JOB_ID": "ffffffff", "RAY_RAYLET_PID": "7", "RAY_ADDRESS": "local", "RAY_AUTH_MODE": "token"}
    driver = {"RAY_ADDRESS": "10.0.0.1:6379", "RAY_AUTH_MODE": "token", "PYTHONUNBUFFERED": "1"}
    assert driver_environment(worker, "10.0.0.1:6379") == driver


def test_arguments_that_a_service_does_not_take_are_refused() -> None:
    with pytest.raises(UserError, match="did you mean 'config'"):
        build({"config": "x.yaml", "confg": "y.yaml"})
