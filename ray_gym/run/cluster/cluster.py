"""Joins the Ray cluster that is running, or else starts a local one that ends with this process."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ray
from ray._common.utils import get_default_system_temp_dir
from ray._private import ray_constants
from ray._private import utils as ray_utils
from ray._private import worker as ray_worker
from ray.job_config import JobConfig

from ray_gym.errors import RunFailed, UserError
from ray_gym.hosting.import_paths import as_variables, beside_configs, import_paths, refuse_hidden_modules
from ray_gym.models.base import Engine
from ray_gym.run.cluster.address import address_here
from ray_gym.run.cluster.gpu_wait import gpus_of_nodes, wait_for_gpus
from ray_gym.run.cluster.gpus import missing_gpus, replicas_by_model
from ray_gym.run.directory.directory import under_submitted_job
from ray_gym.run.signals import hold_signals_back

logger = logging.getLogger(__name__)

LOCAL_OBJECT_STORE_BYTES = 200 * 2**20
"""Size in bytes of a local cluster's object store. Only specifications and receipts pass through it."""
LOCAL_FILES_BYTES = 8 * 2**20
"""Size in bytes of the sockets and logs that a local cluster writes at once."""
NONE_RUNNING = (
    "no Ray cluster is running here, and RAY_ADDRESS names none: start one (`ray start --head`; cluster/README.md has the ways), or set "
    "RAY_ADDRESS=HOST:6379, with RAY_AUTH_MODE and the token of that cluster. `ray-gym rollout` needs none: it starts a local one"
)
"""Message for commands that need a running cluster."""


@contextmanager
def connect(environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """Joins the running cluster while the block runs: the one at RAY_ADDRESS, else the one that `ray start` has started
    on this machine, else a new one that ends with the block.

    `environment` holds environment variables for the processes that are started from here. Errors: UserError for a
    wrong RAY_ADDRESS, or a refused token; RunFailed if the cluster does not answer, RAY_ADDRESS is "auto" and none runs,
    or a new one does not come up.
    """
    refuse_hidden_modules(Path.cwd())
    try:
        _connect(environment or {})
        yield
    finally:
        with _own_handler_at_the_end():
            ray.shutdown()


def _connect(environment: Mapping[str, str]) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, **_for_workers(environment)}
    os.environ.setdefault("RAY_worker_niceness", "0")  # a local cluster has the machine for itself
    local: dict[str, Any] = {"include_dashboard": False, "object_store_memory": LOCAL_OBJECT_STORE_BYTES, **options}
    address = address_here()
    if address is None:
        if os.environ.get("RAY_ADDRESS") == "auto":
            raise RunFailed(
                "RAY_ADDRESS is auto, but no cluster is running here: start one (`ray start --head`), or unset it"
            )
        # Said to Ray, or it would wait for minutes for the one that `ray start` told of and that is gone.
        _check_space(Path(get_default_system_temp_dir()))
        _init(address="local", **local)
        return
    try:
        _init(address=address, **options)
    except ConnectionError as error:
        raise RunFailed(f"the cluster at {address} does not answer: {error}") from None


def _check_space(folder: Path) -> None:
    """Checks that a local cluster has room for its files in the folder: on a full disk Ray ends with a traceback, minutes
    later, or each worker dies. Errors: RunFailed.
    """
    with suppress(OSError):  # Ray makes a folder that is missing
        if shutil.disk_usage(folder).free < LOCAL_FILES_BYTES:
            raise RunFailed(
                f"{folder}, where Ray keeps its files, is full: free some space, or set RAY_TMPDIR to another folder"
            )


def _for_workers(environment: Mapping[str, str]) -> dict[str, Any]:
    """Returns the options of `ray.init` that let processes started from here import everything that this one can, and
    that give them the variables of `environment`.

    A list of paths is enough without variables, and lets Ray use the workers that it has started beforehand. For a
    runtime environment it starts new ones, and each takes 0.6 s of CPU time before it runs our code. A submitted job
    has a runtime environment anyway.
    """
    if not environment and not under_submitted_job() and not beside_configs():
        # Ray puts each in front of those before it.
        return {"job_config": JobConfig(_py_driver_sys_path=import_paths()[::-1])}
    # The job may set a PYTHONPATH, too, which Ray would refuse beside ours; ours has all of it.
    os.environ.setdefault("RAY_OVERRIDE_JOB_RUNTIME_ENV", "1")
    return {"runtime_env": {"env_vars": {**environment, **as_variables()}}}


def _init(**options: Any) -> None:
    """Calls `ray.init`. Errors: RunFailed if a cluster on this machine does not come up; Ray's other exceptions as they
    are.
    """
    try:
        with _without_uv_hook(), _own_handler(), _whole_core_worker(), _apart_from_signals():
            ray.init(**options)
    except Exception as error:
        # Ray has no narrower ones for processes that don't come up in time.
        if type(error) not in (Exception, RuntimeError):
            raise
        raise RunFailed(f"Ray did not come up on this machine, which may be too busy: {error}") from None


@contextmanager
def _without_uv_hook() -> Iterator[None]:
    """Switches Ray's hook for `uv run` off while the block runs: the workers' environment is ours. The hook would start
    `uv run` in each of them, from a working directory of Ray's. (Ray reads the variable for this when it is imported.)
    """
    before = ray_constants.RAY_ENABLE_UV_RUN_RUNTIME_ENV
    ray_constants.RAY_ENABLE_UV_RUN_RUNTIME_ENV = False
    try:
        yield
    finally:
        ray_constants.RAY_ENABLE_UV_RUN_RUNTIME_ENV = before


@contextmanager
def _own_handler() -> Iterator[None]:
    """Keeps this process's handler of SIGTERM. In the block Ray would set one that ends the process without a word, and,
    below Python, one that prints a stack and aborts.
    """
    before = ray_utils.set_sigterm_handler
    ray_utils.set_sigterm_handler = lambda handler: None
    try:
        yield
    finally:
        ray_utils.set_sigterm_handler = before
        _set_own_handler()


@contextmanager
def _own_handler_at_the_end() -> Iterator[None]:
    """Keeps this process's handler of SIGTERM, which Ray takes away, below Python, with the core worker. `ray.shutdown`
    calls what is replaced here right afterwards, before it ends the processes of a local cluster, for seconds.
    """
    make = ray_worker.FunctionActorManager

    def make_with_handler(*arguments: Any) -> Any:
        _set_own_handler()
        return make(*arguments)

    ray_worker.FunctionActorManager = make_with_handler
    try:
        yield
    finally:
        ray_worker.FunctionActorManager = make
        _set_own_handler()


def _set_own_handler() -> None:
    """Sets the handler of SIGTERM that Python knows again: Ray has set another one below Python."""
    handler = signal.getsignal(signal.SIGTERM)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)


@contextmanager
def _whole_core_worker() -> Iterator[None]:
    """Holds signals back while Ray makes this process's core worker, as long as the block runs. An exception out of that
    leaves a core worker which no `ray.shutdown` knows, and which crashes at the end of the process.
    """
    make = ray._raylet.CoreWorker

    def make_whole(*arguments: Any) -> Any:
        with hold_signals_back():
            return make(*arguments)

    ray._raylet.CoreWorker = make_whole
    try:
        yield
    finally:
        ray._raylet.CoreWorker = make


@contextmanager
def _apart_from_signals() -> Iterator[None]:
    """Puts the processes of a local cluster that Ray starts in the block into process groups of their own. A signal to this
    process's group, as `timeout` and a terminal send it, then reaches this process alone, which ends them in order.
    """
    tie = ray_utils.set_kill_on_parent_death_linux  # Ray calls it in each between fork and exec

    def tie_apart() -> None:
        os.setpgid(0, 0)
        tie()

    ray_utils.set_kill_on_parent_death_linux = tie_apart
    try:
        yield
    finally:
        ray_utils.set_kill_on_parent_death_linux = tie


def is_up() -> bool:
    """Says whether a cluster is running: the one that RAY_ADDRESS names or, if it names none, one that `ray start` has
    started on this machine. Errors: as `address_here` has them.
    """
    return address_here() is not None


def check_running() -> None:
    """Checks that a cluster is running, for commands that start none.

    Errors: as `address_here` has them; RunFailed if RAY_ADDRESS names no cluster and none that `ray start` has started
    is running on this machine.
    """
    if not is_up():
        raise RunFailed(NONE_RUNNING)


def is_one_node() -> bool:
    """Says whether the joined cluster has this node alone."""
    return len([node for node in ray.nodes() if node["Alive"]]) == 1


def check_cpus(workers: int, each: float) -> None:
    """Checks that the joined cluster has as many CPUs, in total, as `workers` workers need with `each` CPUs for one.
    Errors: UserError if not, because they would wait for ever.
    """
    there = ray.cluster_resources().get("CPU", 0)
    if workers * each > there:
        raise UserError(
            f"fanout: {workers} workers with cpus_per_worker {each:g} ask for more than the cluster's {there:g} CPUs"
        )


async def check_gpus_in_thread(engines: Mapping[str, Engine], wait_s: float | None) -> None:
    """Checks in a thread that the cluster has the GPUs that the models ask for. `wait_s`: seconds to wait for them at
    most; None does not wait. If the caller is cancelled, the wait ends.

    Errors: UserError if there are too few and `wait_s` is None; RunFailed if there are too few after `wait_s` seconds.
    """
    stopped = threading.Event()
    checking = asyncio.create_task(asyncio.to_thread(check_gpus, engines, wait_s is not None, wait_s, stopped))
    try:
        await asyncio.shield(checking)
    finally:
        stopped.set()
        await asyncio.wait({checking})


def check_gpus(
    engines: Mapping[str, Engine], wait: bool, deadline_s: float | None = None, stopped: threading.Event | None = None
) -> None:
    """Checks that the cluster's nodes have the GPUs that the models ask for. With `wait` it blocks until they have, or
    until `stopped` is set (None: never set).

    Errors: UserError if there are too few and `wait` is False; RunFailed if there are too few after `deadline_s`
    seconds (None: no deadline).
    """
    wanted = replicas_by_model(engines)
    problem = missing_gpus(wanted, gpus_of_nodes()) if wanted else None
    if problem is None:
        return
    if not wait:
        raise UserError(
            f"models: {problem}. Set gpus: 0 to run on CPU, ask for fewer replicas, or pass --wait (a stream: wait_s) for a cluster that "
            "grows"
        )
    wait_for_gpus(wanted, deadline_s, stopped or threading.Event())
