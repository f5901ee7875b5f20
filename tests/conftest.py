"""Starts one Ray cluster and one engine for all tests that share them, each only if a test asks for it."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import psutil
import pytest
from hypothesis import settings

from ray_gym.cli import main
from ray_gym.episode.thread import Asked, Thread
from ray_gym.messages import ToolSchema
from ray_gym.models.base import Completion

pytest_plugins = ["gate", "missing_packages", "sandboxes", "services", "trainer_venvs"]
settings.register_profile("any_machine", deadline=None)  # a busy one makes no example wrong
settings.load_profile("any_machine")
REPOSITORY = Path(__file__).resolve().parents[1]
RAY = str(Path(sys.executable).parent / "ray")
PATIENT = {
    "RAY_raylet_start_wait_time_s": "120",
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",  # as the service has it, for other tests that start Serve
    "RAY_worker_niceness": "0",
    "RAY_prestart_worker_first_driver": "0",  # it starts a worker for each CPU, and ours have an environment of their own
}
"""Ray on a machine that is busy, with other tests for one thing."""


def free_port() -> int:
    """Returns a free port that the system gives to nobody by itself: Ray's many processes ask it for ports."""
    [port] = free_ports(1)
    return port


def free_ports(count: int) -> list[int]:
    """Returns such ports, no two of which are the same."""
    free: list[int] = []
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            free.append(port)
        if len(free) == count:
            return free
    raise OSError("no free port")


def eventually(condition: Callable[[], Any], within_s: float) -> Any:
    """Look until it holds, and give what was found. Errors: TimeoutError."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"not within {within_s} s")


STANDING = ("model_cluster", "cluster")
"""Fixtures of the session whose tests come first, in this order: promises about time hold less while other clusters are up."""


def pytest_configure() -> None:
    """Restores Ctrl-C: what a shell starts in the background ignores it, and so would the processes of tests that send
    it.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def order(item: pytest.Item) -> int:
        if item.get_closest_marker("first"):
            return -1
        fixtures = item.fixturenames if isinstance(item, pytest.Function) else ()
        return next((place for place, name in enumerate(STANDING) if name in fixtures), len(STANDING))

    items.sort(key=order)


@pytest.fixture(scope="session")
def cluster() -> Iterator[dict[str, str]]:
    """A cluster on this machine, with its dashboard (jobs need it). Gives the environment that reaches it."""
    with standing_cluster() as environment:
        yield environment


@contextlib.contextmanager
def standing_cluster(
    more: Mapping[str, str] | None = None, *, python: str = sys.executable
) -> Iterator[dict[str, str]]:
    """Starts a cluster as the fixture `cluster` does, for a test that needs one of its own.

    `more` are further environment variables; `python` is the interpreter of another environment whose Ray is started.
    """
    directory = tempfile.mkdtemp(prefix="ray_gym_test_")  # short: Ray puts sockets below it
    port, dashboard, agent = free_ports(3)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "PYTEST_"))}
    path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"  # jobs run the python that is first on it
    environment = {
        **inherited,
        **PATIENT,
        "PATH": path,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "a-token-of-the-tests-only-0123456789",
        **(more or {}),
    }
    start = [
        str(Path(python).parent / "ray"),
        "start",
        "--head",
        f"--port={port}",
        f"--dashboard-port={dashboard}",
        f"--temp-dir={directory}",
    ]
    limits = [
        f"--dashboard-agent-listen-port={agent}",  # its own one is taken while another cluster is up, and jobs need it
        "--num-cpus=4",
        "--object-store-memory=200000000",
        "--disable-usage-stats",
        "--node-ip-address=127.0.0.1",
    ]
    reach = {"RAY_ADDRESS": f"127.0.0.1:{port}", "RAY_GYM_TEST_JOBS": f"http://127.0.0.1:{dashboard}"}
    try:
        subprocess.run([*start, *limits], env=environment, check=True, capture_output=True, timeout=180)
        yield {**environment, **reach}
    finally:
        stop_cluster(directory)
        shutil.rmtree(directory, ignore_errors=True)


def raylet_children(cluster: dict[str, str], *titles: str) -> list[psutil.Process]:
    """Returns the processes of this cluster's raylet whose titles begin with one of these. Those of other clusters on
    the machine are not ours.
    """
    address = re.compile(rf"gcs-address=\S+:{cluster['RAY_ADDRESS'].partition(':')[2]}\b")
    processes = psutil.process_iter(["name", "cmdline"])
    raylet = next(one for one in processes if one.info["name"] == "raylet" and address.search(str(one.info["cmdline"])))
    found = []
    for process in raylet.children():
        with contextlib.suppress(psutil.Error):
            if " ".join(process.cmdline()).startswith(tuple(f"ray::{title}" for title in titles)):
                found.append(process)
    return found


def stop_cluster(directory: str) -> None:
    """Kill this cluster's processes only: `ray stop` would take down every cluster of the machine."""
    mine = [
        process for process in psutil.process_iter(["cmdline"]) if directory in " ".join(process.info["cmdline"] or [])
    ]
    family = {child for process in mine for child in process.children(recursive=True)} | set(mine)
    for process in family:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(family, timeout=30)


async def one_call(
    thread: Thread, tools: tuple[ToolSchema, ...] = (), allowed: tuple[ToolSchema, ...] = (), max_tokens: int = 512
) -> Completion:
    """Makes a call of a thread, as an episode does. The caller has to accept the answer."""
    thread.take()
    try:
        return await thread.model.complete(thread.request(Asked.by(thread.participant, tools, allowed), max_tokens))
    finally:
        thread.give_back()


def ray_gym(*arguments: str, environment: dict[str, str], timeout: float = 200) -> subprocess.CompletedProcess[str]:
    """Runs the command line as a user would, from the repository."""
    command = [sys.executable, "-m", "ray_gym", *arguments]
    return subprocess.run(
        command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=timeout, check=False
    )


def ray_gym_here(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command line within this process, from the repository: for commands that start nothing. It puts back what
    they set among the environment's variables, too.
    """
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), kept_handlers(), kept_variables() as patch:
        patch.chdir(REPOSITORY)
        patch.setattr(sys, "argv", ["ray-gym", *arguments])
        if environment is not None:
            for name in os.environ.keys() - environment.keys():
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)
            path = [folder for folder in environment.get("PYTHONPATH", "").split(os.pathsep) if folder]
            patch.setattr(sys, "path", [*path, *sys.path])
        with pytest.raises(SystemExit) as ended:
            main()
    return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), out.getvalue(), err.getvalue())


@contextlib.contextmanager
def kept_variables() -> Iterator[pytest.MonkeyPatch]:
    """Puts back all variables of the environment, which a command may set, and what the patch that it yields sets."""
    with mock.patch.dict(os.environ), pytest.MonkeyPatch.context() as patch:
        yield patch


@contextlib.contextmanager
def kept_handlers() -> Iterator[None]:
    """Puts the handlers of signals back: a command whose outcome is known ignores them until its process ends."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.fixture
def own_garbage() -> None:
    """Spares a measured call the objects of earlier tests: looks for cycles among them took as long as the call itself."""
    gc.freeze()


@pytest.fixture(scope="session")
def vllm_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """vLLM's own OpenAI server with the small model. It and its engine processes are one process group."""
    from ray_gym.deployments.small_model import checkpoint_dir
    from ray_gym.deployments.vllm.hardware import cpu_dtype

    checkpoint = checkpoint_dir()
    if not checkpoint.exists():
        pytest.fail(f"no small model at {checkpoint}: make model")
    tmp_path = tmp_path_factory.mktemp("vllm_server")
    port = free_port()
    settings = (
        f"--model {checkpoint} --served-model-name small --host 127.0.0.1 --port {port} "
        f"--dtype {cpu_dtype()} --enforce-eager --max-model-len 2048 --block-size 32 --kv-cache-memory-bytes 268435456 "
        "--logprobs-mode processed_logprobs --enable-auto-tool-choice --tool-call-parser hermes "
        "--enable-prompt-tokens-details --distributed-executor-backend uni"
    ).split()
    one_process = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    environment = {**os.environ, "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1", **one_process}
    log = tmp_path / "vllm.log"
    with log.open("wb") as output:
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *settings]
        server = subprocess.Popen(
            command, stdout=output, stderr=output, env=environment, cwd=tmp_path, start_new_session=True
        )
        try:
            wait_for_health(server, f"http://127.0.0.1:{port}/health", log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            end_group(server)


def wait_for_health(server: subprocess.Popen[bytes], url: str, log: Path, deadline_s: float = 180) -> None:
    deadline = time.monotonic() + deadline_s
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if httpx.get(url, timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.5)
    pytest.fail(f"vLLM did not come up:\n{log.read_text()[-3000:]}")


def end_group(server: subprocess.Popen[bytes]) -> None:
    """Ends a server politely, then by force. Kills what is left of its group also when its leader is gone already."""
    server.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(timeout=20)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
