"""Checks `ray-gym doctor` as it is typed: its exit codes, and what it says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import free_port, ray_gym, ray_gym_here

CONFIG = "configs/tic_tac_toe_scripted.yaml"


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Where no cluster is, and none was."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    yield {**inherited, "RAY_TMPDIR": str(tmp_path)}


def test_without_a_cluster_it_says_what_to_do(alone: dict[str, str]) -> None:
    done = ray_gym_here("doctor", CONFIG, environment=alone)
    assert (
        done.returncode == 1 and "no Ray cluster is running here" in done.stderr and "ray start --head" in done.stderr
    )


def test_a_cluster_that_is_gone_is_none(alone: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{free_port()}")
    done = ray_gym_here("doctor", environment=alone)
    assert done.returncode == 1 and "no Ray cluster is running here" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "address", "told"),
    [
        (["configs/nothing.yaml"], None, "there is no such config file"),
        ([CONFIG, "fanout.wrokers=1"], None, "did you mean 'workers'"),
        ([CONFIG], "nowhere", "is no address"),
        ([], "127.0.0.1:9", "nothing answers"),
        ([], "http://127.0.0.1:8265", "RAY_API_SERVER_ADDRESS names the dashboard"),
    ],
)
def test_bad_input(alone: dict[str, str], arguments: list[str], address: str | None, told: str) -> None:
    done = ray_gym_here("doctor", *arguments, environment={**alone, **({"RAY_ADDRESS": address} if address else {})})
    assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr


@pytest.mark.runs
@pytest.mark.ray
def test_what_is_well_and_what_is_not(cluster: dict[str, str], tmp_path: Path) -> None:
    well = ray_gym("doctor", CONFIG, f"output.dir={tmp_path}/runs", f"service.port={free_port()}", environment=cluster)
    assert well.returncode == 0, well.stdout + well.stderr
    assert "all is well" in well.stdout and "asks for the token" in well.stdout and "problem" not in well.stdout
    bad = ray_gym("doctor", CONFIG, "output.dir=/proc/runs", "fanout.cpus_per_worker=3", environment=cluster)
    assert bad.returncode == 1 and "2 problems" in bad.stdout, bad.stdout + bad.stderr
    assert bad.stdout.count("to mend it:") == 2 and "can't write in /proc/runs" in bad.stdout
