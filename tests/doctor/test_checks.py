"""Checks each check by itself, on real faults: a folder, a port, a config, a checkpoint."""

from __future__ import annotations

import fcntl
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import free_port

from ray_gym.deployments.vllm.engine import VllmEngine
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.doctor import ports
from ray_gym.doctor.auth import check_auth, check_dashboard
from ray_gym.doctor.clock import ClockReading, check_clock
from ray_gym.doctor.needs import needs_of
from ray_gym.doctor.nodes import names_of
from ray_gym.doctor.ports import port_problem
from ray_gym.doctor.resources import Room, check_resources, has_labels
from ray_gym.doctor.storage import hold_lock, lock_problem, read_problem, write_problem
from ray_gym.doctor.versions import MISSING, check_versions, versions_here
from ray_gym.errors import UserError
from ray_gym.models.placement import Replicas

# ---- versions ----


def test_a_node_that_differs_is_named() -> None:
    same = {"python": "3.11.9", "ray": "2.60.0"}
    found = check_versions({"a": same, "b": same, "c": {**same, "ray": "2.59.0"}})
    assert [(each.node, each.check, each.found, each.is_well) for each in found] == [
        ("cluster", "python", "3.11.9", True),
        ("c", "ray", "2.59.0", False),
    ]
    assert "2.60.0" in found[1].mend
    [gone] = [each for each in check_versions({"a": {"x": "1"}, "b": {"x": "1"}, "c": {}}) if not each.is_well]
    assert gone.found == MISSING


def test_code_is_told_apart_by_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "an_environment"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rules.py").write_text("REWARD = 1\n")
    before = versions_here(("an_environment", "ray_gym", "no_such_package"))
    (package / "rules.py").write_text("REWARD = 2\n")
    after = versions_here(("an_environment", "ray_gym", "no_such_package"))
    assert before["an_environment"] != after["an_environment"] and before["ray_gym"] == after["ray_gym"]
    assert after["no_such_package"] == MISSING and after["ray"] != MISSING
    assert (after["vllm"] == MISSING) == (find_spec("vllm") is None)


# ---- resources ----

ROOMS = [
    Room("a", 8, 2, {"pool": "policy"}),
    Room("b", 8, 2, {"pool": "policy"}),
    Room("c", 8, 0, {"pool": "cpu"}),
]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (Replicas(4, 0, 1), None),
        (Replicas(2, 0, 2), None),
        (Replicas(4, 0, 1, {"pool": "policy"}), None),
        (Replicas(5, 0, 1), "room for 4"),
        (Replicas(1, 0, 4), "has 2 GPUs"),  # four in all, and on no node
        (Replicas(1, 0, 1, {"pool": "user"}), "no node has pool=user"),
        (Replicas(1, 0, 1, {"pool": "cpu"}), "(c) has 0 GPUs"),
        (Replicas(3, 0, 1.5), "room for 2"),
        (Replicas(1, 9, 1), "has 2 GPUs, 8 CPUs"),
        (Replicas(4, 0, 1, apart=2), None),
        (Replicas(3, 0, 1, apart=3), "3 of them on as many nodes (STRICT_SPREAD): 2 such nodes"),
    ],
)
def test_replicas_have_to_fit_on_nodes(asked: Replicas, told: str | None) -> None:
    [result] = check_resources(ROOMS, {"policy": [asked]}, 2, 0)
    assert result.is_well is (told is None) and (told or "room for") in result.found


def test_the_large_ones_are_placed_first_and_workers_last() -> None:
    models = {"small": [Replicas(2, 0, 1)], "large": [Replicas(1, 0, 2)]}
    assert all(each.is_well for each in check_resources(ROOMS, models, 24, 1))
    assert [each.check for each in check_resources(ROOMS, models, 25, 1) if not each.is_well] == ["fanout.workers"]
    more = {**models, "other": [Replicas(1, 0, 1)]}
    assert [each.check for each in check_resources(ROOMS, more, 1, 0) if not each.is_well] == ["models.other"]


@pytest.mark.parametrize(
    ("value", "has"), [("a", True), ("b", False), ("!a", False), ("!b", True), ("in(a, b)", True), ("!in(a,b)", False)]
)
def test_label_selectors_are_rays(value: str, has: bool) -> None:
    assert has_labels({"pool": "a"}, {"pool": value}) is has
    assert has_labels({}, {"pool": value}) is value.startswith("!")


# ---- storage ----


def test_a_good_folder(tmp_path: Path) -> None:
    assert write_problem(tmp_path, "one") is None
    assert read_problem(tmp_path, {"one": "a"}) is None


def test_an_unwritable_folder(tmp_path: Path) -> None:
    missing = tmp_path / "gone"
    assert "No such file" in (write_problem(missing, "one") or "")
    assert "can't write in /proc" in (write_problem(Path("/proc"), "one") or "")


def test_a_folder_that_is_not_shared(tmp_path: Path) -> None:
    (tmp_path / "two").write_text("tw")  # torn
    assert read_problem(tmp_path, {"one": "node a", "two": "node b"}) == (
        f"{tmp_path}: does not see what was written by node a, node b"
    )


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray_gym.doctor.storage.ENOUGH_FREE", 2**70)
    assert "MiB left" in (write_problem(tmp_path, "one") or "")


def test_a_lock_of_another_process(tmp_path: Path) -> None:
    with hold_lock(tmp_path):
        script = f"from pathlib import Path; from ray_gym.doctor.storage import lock_problem as p; print(p(Path({str(tmp_path)!r})))"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        assert done.stdout.strip() == "None", done.stderr
    assert "given to this one, too" in (lock_problem(tmp_path) or "")  # nobody holds it
    (tmp_path / "lock").unlink()
    assert "has no locks" in (lock_problem(tmp_path) or "")


def test_a_file_system_whose_locks_do_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)  # as some network file systems are mounted
    assert "they don't lock" in (write_problem(tmp_path, "one") or "")


# ---- ports and tokens ----


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", free_port()))
        holder.listen()
        yield holder.getsockname()[1]


def test_a_port_that_another_holds(listening: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "LOOK_S", 0.5)  # what listens there never answers
    assert port_problem("127.0.0.1", free_port()) is None
    assert "Address already in use" in (port_problem("127.0.0.1", listening) or "")
    assert "Address already in use" in (port_problem("0.0.0.0", listening) or "")
    assert "can't listen at 203.0.113.1" in (port_problem("203.0.113.1", listening) or "")


def test_no_token_and_no_dashboard() -> None:
    assert check_auth(True).is_well and "runs code" in check_auth(False).found
    assert not check_dashboard("").is_well
    assert "nothing answers" in check_dashboard(f"127.0.0.1:{free_port()}").found


@pytest.mark.parametrize(("status", "well"), [("200 OK", False), ("401 Unauthorized", True), ("403 Forbidden", True)])
def test_a_dashboard_has_to_ask_for_a_token(status: str, well: bool) -> None:
    script = (
        "import socket, sys\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "print(server.getsockname()[1], flush=True)\n"
        "connection, _ = server.accept()\n"
        "connection.recv(65536)\n"
        f"connection.sendall(b'HTTP/1.1 {status}\\r\\nContent-Length: 2\\r\\n\\r\\n[]')\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert check_dashboard(f"127.0.0.1:{server.stdout.readline().strip()}").is_well is well


# ---- clocks ----


@pytest.mark.parametrize(
    ("there", "told"), [(100.5, None), (98.5, "1.5 s behind"), (103.0, "2.0 s ahead"), (101.9, None), (99.1, None)]
)
def test_clocks(there: float, told: str | None) -> None:
    """Nothing is said of what an answer's way may explain."""
    result = check_clock("a", ClockReading(100.0, there, 101.0))
    assert result.is_well is (told is None) and (told or "within") in result.found
    now = time.time()
    assert check_clock("a", ClockReading(now, now, now)).is_well


# ---- models and configs ----

CONFIG = """
environment: {id: tic_tac_toe}
tasks: {generate: 2}
models:
  policy: {engine: vllm, model: MODEL, replicas: 2, gpus: 0.5, tensor_parallel: 2, cpus: 3, label_selector: {pool: policy}}
  up: {engine: vllm, app: another}
  random: {engine: scripted, player: "ray_gym.envs.tic_tac_toe.players:random_player"}
participants:
  policy: {model: policy}
  user: {model: random}
fanout: {workers: 3, cpus_per_worker: 2}
output: {dir: "s3://bucket/runs", journal_dir: /shared/journals}
service: {port: 8123, offers: {cards: {environment: {id: blackjack}, participants: {policy: {model: random}}}}}
"""


def test_what_a_config_asks_for(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG)
    needs = needs_of(tmp_path / "config.yaml", [])
    assert needs.replicas_to_place() == {"policy": [Replicas(2, 3, 1, {"pool": "policy"})]}
    assert (needs.workers, needs.cpus_per_worker, needs.address) == (3, 2, ("127.0.0.1", 8123))
    assert needs.folders == {"output.journal_dir": Path("/shared/journals")}
    assert needs.object_stores == ("s3://bucket/runs",)
    assert needs.packages == ("ray_gym",)
    with pytest.raises(UserError, match="did you mean 'tensor_parallel'"):
        needs_of(tmp_path / "config.yaml", ["models.policy.tensor_paralel=4"])


def test_what_a_job_would_be_refused_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor, in a submitted job, refuses the folders that a run would be refused for there."""
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    config = Path("configs/tic_tac_toe_scripted.yaml")
    with pytest.raises(UserError, match=r"output\.dir: \S+ is relative"):
        needs_of(config, ["output.dir=runs"])
    with pytest.raises(UserError, match=r"output\.journal_dir: here is relative"):
        needs_of(config, ["output.dir=/shared/runs", "output.journal_dir=here"])
    assert needs_of(config, ["output.dir=/shared/runs"]).folders == {"output.dir": Path("/shared/runs")}


def test_a_missing_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(model: str) -> str:
        return VllmEngine(VllmOptions(model=model)).missing_files() or ""

    assert "is no checkpoint" in missing(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    assert missing(str(tmp_path)) == ""
    monkeypatch.setenv("RAY_GYM_CACHE", str(tmp_path / "empty"))
    assert "make model" in missing("smollm2-135m-instruct")


def test_nodes_of_one_machine_have_names_of_their_own() -> None:
    nodes = [("10.0.0.1", "aaaaaaaa"), ("10.0.0.2", "bbbbbbbb"), ("10.0.0.2", "cccccccc")]
    assert names_of(nodes) == ["10.0.0.1", "10.0.0.2/bbbbbb", "10.0.0.2/cccccc"]
