"""Runs `ray-gym doctor` on three raylets: when all is well, and with each problem that one of them may have."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import ray
from conftest import REPOSITORY, free_port
from ray.cluster_utils import Cluster

from ray_gym.doctor.examination import examine
from ray_gym.doctor.needs import ClusterNeeds, needs_of
from ray_gym.doctor.nodes import ExaminedNodes, start_examiners
from ray_gym.doctor.result import Result

pytestmark = [pytest.mark.ray, pytest.mark.nodes]

CONFIG = """
environment: {id: tic_tac_toe}
tasks: {generate: 2}
models:
  policy: {engine: vllm, model: smollm2-135m-instruct, replicas: 2, label_selector: {pool: policy}}
  random: {engine: scripted, player: "ray_gym.envs.tic_tac_toe.players:random_player"}
participants:
  policy: {model: policy}
  user: {model: random}
fanout: {workers: 2, cpus_per_worker: 1}
output: {dir: FOLDER/runs}
service: {port: PORT}
"""


@pytest.fixture(scope="module")
def nodes() -> Iterator[ExaminedNodes]:
    """Starts a head, a node that claims two GPUs and one that finds no small model. Yields their examiners."""
    before = dict(os.environ)
    folder = Path(tempfile.mkdtemp(prefix="ray_gym_test_"))  # short: Ray puts sockets below it
    os.environ["PYTHONPATH"] = str(REPOSITORY)
    os.environ.pop("RAY_ADDRESS", None)
    small = {"object_store_memory": 100 * 2**20, "num_cpus": 2}
    cluster = Cluster(
        initialize_head=True, head_node_args={**small, "temp_dir": str(folder), "include_dashboard": False}
    )
    cluster.add_node(**small, num_gpus=2, labels={"pool": "policy"})
    os.environ["RAY_GYM_CACHE"] = str(folder / "nothing")
    cluster.add_node(**small, num_gpus=1, labels={"pool": "bare"})
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        with start_examiners(60) as found:
            yield found
    finally:
        ray.shutdown()
        cluster.shutdown()
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.replace("FOLDER", str(tmp_path)).replace("PORT", str(free_port())))
    return path


def problems(nodes: ExaminedNodes, needs: ClusterNeeds) -> list[Result]:
    return [result for result in examine(nodes, needs) if not result.is_well]


def node_of(nodes: ExaminedNodes, pool: str | None) -> str:
    [name] = [name for name, node in nodes.answering.items() if node.room.labels.get("pool") == pool]
    return name


def test_a_cluster_that_is_well(nodes: ExaminedNodes, config: Path) -> None:
    results = examine(nodes, needs_of(config, []))
    assert [result for result in results if not result.is_well] == []
    checks = {result.check: result for result in results}
    assert checks["nodes"].found == "3" and "3 nodes write" in checks["output.dir"].found
    assert {result.node for result in results if result.check == "clock"} == set(nodes.answering)
    assert [result.node for result in results if result.check == "models.policy"][1:] == [node_of(nodes, "policy")]
    assert not (config.parent / "runs").exists() and [path.name for path in config.parent.iterdir()] == ["config.yaml"]
    assert [result for result in examine(nodes, ClusterNeeds()) if not result.is_well] == []


@pytest.mark.parametrize(
    ("override", "check", "told"),
    [
        ("models.policy.replicas=3", "models.policy", "room for 2"),
        ("models.policy.tensor_parallel=4", "models.policy", "has 2 GPUs"),
        ("models.policy.label_selector.pool=nobody", "models.policy", "no node has pool=nobody"),
        ("models.policy.model=/nowhere/model", "models.policy", "is no checkpoint"),
        ("fanout.workers=7", "fanout.workers", "room for 6"),
        ("output.dir=/proc/runs", "output.dir", "can't write in /proc/runs"),
        ("output.journal_dir=/proc/journals", "output.journal_dir", "can't write in /proc/journals"),
    ],
)
def test_what_a_config_asks_for_in_vain(
    nodes: ExaminedNodes, config: Path, override: str, check: str, told: str
) -> None:
    found = problems(nodes, needs_of(config, [override]))
    assert [result.check for result in found] == [check] and told in found[0].found and found[0].mend


def test_a_node_without_the_models_files_is_named(nodes: ExaminedNodes, config: Path) -> None:
    [found] = problems(nodes, needs_of(config, ["models.policy.replicas=1", "models.policy.label_selector.pool=bare"]))
    assert found.node == node_of(nodes, "bare") and "make model" in found.found


def test_a_port_that_another_process_holds(nodes: ExaminedNodes, config: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", free_port()))
        holder.listen()
        [found] = problems(nodes, needs_of(config, [f"service.port={holder.getsockname()[1]}"]))
    assert found.check == "service.port" and found.node == node_of(nodes, None) and "in use" in found.found


def test_a_node_that_does_not_answer_holds_up_nobody(nodes: ExaminedNodes, config: Path) -> None:
    """This test must be the last of the module: it kills the examiner of a node."""
    victim = node_of(nodes, "bare")
    asked = nodes.answering[victim].examiner.__ray_call__.remote(lambda examiner: os.getpid())
    process = psutil.Process(ray.get(asked, timeout=30))
    process.send_signal(signal.SIGSTOP)
    nodes.deadline_s = 5
    found = problems(nodes, needs_of(config, []))
    process.send_signal(signal.SIGKILL)
    [silent] = found
    assert (silent.node, silent.check) == (victim, "answers") and "no answer within 5 s" in silent.found
