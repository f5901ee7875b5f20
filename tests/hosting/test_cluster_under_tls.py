"""Looks, from outside, at every connection of replicas on a cluster under TLS: none is in plain text."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from certificates import Certificates, make_certificates
from conftest import REPOSITORY, ray_gym, raylet_children, standing_cluster
from plain_text import Look, server_ends

pytestmark = [pytest.mark.ray, pytest.mark.nodes]

CONFIG = "configs/tic_tac_toe_scripted.yaml"
REPLICAS = 2


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def cluster_under_tls(certificates: Certificates) -> Iterator[dict[str, str]]:
    with standing_cluster(certificates.environment()) as environment:
        yield environment


@pytest.mark.parametrize("explicit", [[], ["models.random.transport=batched"]], ids=["default", "batched"])
def test_models_are_not_reached_in_plain_text(
    cluster_under_tls: dict[str, str], certificates: Certificates, tmp_path: Path, explicit: list[str]
) -> None:
    name = "batched" if explicit else "default"
    command = [sys.executable, "-m", "ray_gym", "rollout", CONFIG, f"models.random.replicas={REPLICAS}", *explicit]
    settings = [f"output.dir={tmp_path}", f"run.name={name}", "models.random.delay_s=0.1", "tasks.limit=25"]
    run = subprocess.Popen(
        [*command, *settings], env=cluster_under_tls, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    look, seen = Look(certificates), dict[int, int]()
    try:
        while run.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(timeout=0.2)
            for replica in raylet_children(cluster_under_tls, f"ServeReplica:{name}-random"):
                seen[replica.pid] = max(seen.get(replica.pid, 0), len(server_ends(replica)))
                look.at([replica])
    finally:
        run.kill()
        output = run.communicate()[0].decode()
    assert run.returncode == 0, output
    assert output.count("RAY_USE_TLS") == 1, output
    assert json.loads((tmp_path / name / "summary.json").read_text())["status"] == {"completed": 100}
    assert len(seen) == REPLICAS and min(seen.values()) >= 2, "it looked at nothing"
    print(f"{seen} ends of replicas, in all {sorted(look.answers)}")
    assert look.in_plain_text == {}


@pytest.mark.parametrize("told_by", ["RAY_ADDRESS", "ray start"])
@pytest.mark.parametrize("mine", ["another authority", "plain text"])
def test_who_may_not_come_in_is_told_why(
    cluster_under_tls: dict[str, str], tmp_path: Path, mine: str, told_by: str
) -> None:
    ours = {"RAY_USE_TLS": "0"} if mine == "plain text" else make_certificates(tmp_path).environment()
    environment = {**cluster_under_tls, **ours}
    if told_by == "ray start":
        (tmp_path / "ray").mkdir()
        (tmp_path / "ray" / "ray_current_cluster").write_text(environment.pop("RAY_ADDRESS"))
        environment["RAY_TMPDIR"] = str(tmp_path)
    done = ray_gym("rollout", CONFIG, f"output.dir={tmp_path}/runs", environment=environment)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stdout + done.stderr
    assert ("RAY_USE_TLS=1 here, too" if mine == "plain text" else "Tls handshake failed") in done.stderr
    assert not (tmp_path / "runs").exists()
