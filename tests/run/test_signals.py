"""Checks which signals stop a run, and that they unwind what was started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator
from types import ModuleType

import pytest
import ray
from ray._private import utils

from ray_gym import cli
from ray_gym.run.cluster import cluster
from ray_gym.run.cluster.cluster import _init
from ray_gym.run.signals import serve_until_signalled, stop_signals, unwind_on_signals
from ray_gym.trainers.areal import weight_server
from ray_gym.trainers.nemo_rl import agent


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_of_them_unwinds(by: signal.Signals) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    before = {number: signal.getsignal(number) for number in stop_signals()}
    with pytest.raises(KeyboardInterrupt), unwind_on_signals():
        os.kill(os.getpid(), by)
    assert {number: signal.getsignal(number) for number in before} == before


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_one_whose_error_python_drops_unwinds_all_the_same(
    by: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    class Dropped:
        def __del__(self) -> None:
            os.kill(os.getpid(), by)

    with pytest.raises(KeyboardInterrupt), unwind_on_signals():
        Dropped()
        threading.Event().wait(30)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_one_while_ray_makes_its_core_worker_comes_afterwards(
    by: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def make(name: str) -> str:
        os.kill(os.getpid(), by)
        return name

    def init() -> None:
        made.append(ray._raylet.CoreWorker("whole"))
        threading.Event().wait(30)

    monkeypatch.setattr(ray._raylet, "CoreWorker", make)
    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(KeyboardInterrupt), unwind_on_signals():
        _init()
    assert made == ["whole"] and ray._raylet.CoreWorker is make


def test_a_start_of_ray_that_is_interrupted_is_shut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(environment: object) -> None:
        raise KeyboardInterrupt

    ended: list[bool] = []
    monkeypatch.setattr(cluster, "_connect", interrupted)
    monkeypatch.setattr(ray, "shutdown", lambda: ended.append(True))
    with pytest.raises(KeyboardInterrupt), cluster.connect():
        pass
    assert ended


def test_other_dropped_errors_are_told() -> None:
    class Dropped:
        def __del__(self) -> None:
            raise ValueError

    told: list[object] = []
    before, sys.unraisablehook = sys.unraisablehook, told.append
    try:
        with unwind_on_signals():
            Dropped()
    finally:
        sys.unraisablehook = before
    assert len(told) == 1


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert signal.SIGHUP not in stop_signals()
    with unwind_on_signals():
        os.kill(os.getpid(), signal.SIGHUP)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_in_the_background_is_interrupted_while_it_is_imported(
    by: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    monkeypatch.setattr("ray_gym.cli.app.main", lambda: os.kill(os.getpid(), by))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1 and capsys.readouterr().err == "ray-gym: interrupted\n"


def test_ray_takes_no_signal_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**options: object) -> None:
        utils.set_sigterm_handler(signal.SIG_IGN)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("ray.init", init)
    with pytest.raises(KeyboardInterrupt), unwind_on_signals():
        _init()


def test_a_signal_at_the_very_end_is_a_line() -> None:
    script = (  # as Ray does much at the end of a process
        "import atexit, os, signal, sys; atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "from ray_gym.cli import main; sys.argv = ['ray-gym', '--version']; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "ray-gym: interrupted\n")


@pytest.mark.runs
@pytest.mark.parametrize("server", [weight_server, agent])
def test_a_signal_in_the_imports_of_a_trainers_service_is_a_line(server: ModuleType) -> None:
    script = f"""
import os, runpy, signal, sys
class Finder:
    def find_spec(self, name, *more):
        if name == "ray_gym.trainers.service":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
runpy.run_module("{server.__name__}", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "ray-gym: interrupted\n")


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("server", "arguments"), [(weight_server, ["app", "--root", "/"]), (agent, ["--repeats", "1", "--tokenizer", "t"])]
)
def test_services_of_trainers_end_by_signals_also_in_the_background(
    server: ModuleType, arguments: list[str], by: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(given: Namespace) -> int:
        os.kill(os.getpid(), by)
        return 3

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    monkeypatch.setattr(server, "serve", serve)
    assert server.main(arguments) == 0
    assert serve_until_signalled(lambda: 2) == 2


@pytest.mark.parametrize("keeps", ["threading.Thread(target=threading.Event().wait)", "threading.Timer(600, print)"])
def test_a_process_that_is_done_ends_whatever_others_threads_do(keeps: str) -> None:
    code = f"import threading\nfrom ray_gym.run.signals import leave_within\n{keeps}.start()\nprint('stopped')\nleave_within(0.5)"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert done.stdout == "stopped\n"


def test_a_process_that_ends_by_itself_does_so_with_its_own_code() -> None:
    code = "import sys\nfrom ray_gym.run.signals import leave_within\nleave_within(600)\nsys.exit(3)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 3
