"""Checks signals that do not go to a command alone: `timeout` and a closing terminal send them to its process group, and what ends
a job sends them to all of its processes. A local cluster's own processes are among those.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from conftest import REPOSITORY, eventually, free_port
from ray._private import services, utils
from ray._private import worker as ray_worker
from serving import ALONE

from ray_gym.hosting import head
from ray_gym.hosting.head import own_head_is_gone
from ray_gym.run.cluster.cluster import _apart_from_signals

NEVER_UP = "models.random={engine: scripted, player: 'ray_gym.envs.tic_tac_toe.players:random_player', replicas: 1, cpus: 4000}"
ENDS_WITHIN_S = 30
"""Half of the time after which Ray itself ends a process whose cluster's head is gone, in words of its own."""


@contextmanager
def started(log: Path, until: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a command in a session of its own, as a shell does, and yields it once it has said so. Afterwards all of its
    processes have to be gone.
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run under nohup, which children inherit
    with log.open("wb") as output:
        command = subprocess.Popen(
            [sys.executable, "-m", "ray_gym", *arguments],
            env=ALONE,
            cwd=REPOSITORY,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    signal.signal(signal.SIGHUP, before)
    processes: list[psutil.Process] = []
    try:
        eventually(lambda: command.poll() is not None or until in log.read_text(), 120)
        assert command.poll() is None, log.read_text()
        processes = family(command)
        yield command
        assert not psutil.wait_procs(processes, timeout=30)[1]
    finally:
        for process in [*processes, command]:
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                process.kill()
        command.wait()


def family(command: subprocess.Popen[bytes]) -> list[psutil.Process]:
    leader = psutil.Process(command.pid)
    return [leader, *leader.children(recursive=True)]


def to_group(command: subprocess.Popen[bytes], by: signal.Signals) -> None:
    os.killpg(command.pid, by)


def to_all(command: subprocess.Popen[bytes], by: signal.Signals) -> None:
    for process in family(command):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(by)


@pytest.mark.runs
@pytest.mark.parametrize(
    ("send", "by"), [(to_group, signal.SIGTERM), (to_group, signal.SIGHUP), (to_all, signal.SIGTERM)]
)
def test_a_run_whose_models_are_loading_is_interrupted_with_a_line(
    send: Callable[[subprocess.Popen[bytes], signal.Signals], None], by: signal.Signals, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    arguments = ["rollout", "configs/tic_tac_toe_scripted.yaml", NEVER_UP, f"output.dir={tmp_path}"]
    with started(log, "model random: loading", *arguments) as command:
        began = time.monotonic()
        send(command, by)
        assert command.wait(ENDS_WITHIN_S * 2) == 1
        assert time.monotonic() - began < ENDS_WITHIN_S
        assert log.read_text().endswith("\nray-gym: interrupted\n")


@pytest.mark.runs
@pytest.mark.parametrize("send", [to_group, to_all])
def test_a_service_is_stopped_with_a_line(
    send: Callable[[subprocess.Popen[bytes], signal.Signals], None], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    arguments = ["serve", "configs/service_scripted.yaml", f"service.port={free_port()}", f"output.dir={tmp_path}"]
    with started(log, "ready: ", *arguments) as command:
        began = time.monotonic()
        send(command, signal.SIGTERM)
        assert command.wait(ENDS_WITHIN_S * 2) == 0
        assert time.monotonic() - began < ENDS_WITHIN_S
        assert "\nstopping\nstopped; started again with this output.dir" in log.read_text()


def test_processes_of_a_local_cluster_are_in_groups_of_their_own() -> None:
    tie = utils.set_kill_on_parent_death_linux
    show = [sys.executable, "-c", "import os; print(os.getpid() == os.getpgid(0), os.getpgid(0))"]
    with _apart_from_signals():
        apart = services.start_ray_process(show, "raylet", fate_share=True, stdout_file=subprocess.PIPE)
    assert apart.process.communicate()[0].split()[0] == b"True"
    together = services.start_ray_process(show, "raylet", fate_share=True, stdout_file=subprocess.PIPE)
    assert together.process.communicate()[0].split() == [b"False", str(os.getpgid(0)).encode()]
    assert utils.set_kill_on_parent_death_linux is tie


@pytest.mark.parametrize(
    ("own", "answers", "gone"), [(True, False, True), (True, True, False), (False, False, False), (None, False, False)]
)
def test_only_an_own_cluster_is_looked_at(
    own: bool | None, answers: bool, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{free_port()}"
    node = None if own is None else SimpleNamespace(is_head=lambda: own, gcs_address=address)
    monkeypatch.setattr(ray_worker, "_global_node", node)
    if answers:
        monkeypatch.setattr(head, "ask_head", lambda asked: None)
    assert own_head_is_gone() is gone
