"""Carries out all checks, one after the other, each on every node that it concerns."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ray_gym.doctor.clock import ClockReading, check_clock
from ray_gym.doctor.needs import ClusterNeeds
from ray_gym.doctor.nodes import ExaminedNodes
from ray_gym.doctor.resources import check_resources, fits
from ray_gym.doctor.result import CLUSTER, Result
from ray_gym.doctor.sandboxes import check_sandboxes
from ray_gym.doctor.storage import hold_lock
from ray_gym.doctor.versions import check_versions

HERE = "here"
"""Stands in place of a node's name, for the machine that this process is on."""
SHARE_IT = "mount one file system there on all nodes and here, writable, with locks; or set {key} to a folder of one"


def examine(nodes: ExaminedNodes, needs: ClusterNeeds) -> list[Result]:
    """Carries out all checks of a config's needs, and returns their results, with a problem for each node that did not
    answer.
    """
    results = [Result(CLUSTER, "nodes", str(len(nodes.answering)))]
    results += check_versions(nodes.ask("versions", needs.packages))
    results += _clocks(nodes)
    rooms = [node.room for node in nodes.answering.values()]
    results += check_resources(rooms, needs.replicas_to_place(), needs.workers, needs.cpus_per_worker)
    results += _model_files(nodes, needs)
    results += _port(nodes, needs)
    results += check_sandboxes(nodes.ask("sandboxes"))
    for key, folder in needs.folders.items():
        results += _storage(nodes, key, folder)
    results += [Result(CLUSTER, "output", f"{uri}: object stores are not looked at") for uri in needs.object_stores]
    mend = "look at this node's raylet.log and dashboard_agent.log; does it have ray_gym's dependencies, and do its mounts answer?"
    return results + [Result(node, "answers", why, mend) for node, why in nodes.silent.items()]


def _clocks(nodes: ExaminedNodes) -> list[Result]:
    """Reads the clocks of the nodes one after the other, and returns the results: the less time an answer takes, the
    more exact the reading is.
    """
    results = []
    for name in list(nodes.answering):
        before = time.time()
        for there in nodes.ask("now", only=lambda node, name=name: node.name == name).values():  # type: ignore[misc]
            results.append(check_clock(name, ClockReading(before, there, time.time())))
    return results


def _model_files(nodes: ExaminedNodes, needs: ClusterNeeds) -> list[Result]:
    """Checks the files of models on each node where a replica of the model may be, and returns the results."""
    results = []
    for name, placed in needs.replicas_to_place().items():
        answers = nodes.ask(
            "missing_files",
            needs.engines[name],
            only=lambda node, placed=placed: any(fits(node.room, each) for each in placed),  # type: ignore[misc]
        )
        mend = f"put the checkpoint there (or set models.{name}.model to a folder that is shared)"
        results += [
            Result(node, f"models.{name}", problem or "its files are there", mend if problem else "")
            for node, problem in answers.items()
        ]
    return results


def _port(nodes: ExaminedNodes, needs: ClusterNeeds) -> list[Result]:
    """Checks the port of the service on the head node, where its proxy is, and returns the results; [] without a
    service's address.
    """
    if needs.address is None:
        return []
    host, port = needs.address
    answers = nodes.ask("port", host, port, only=lambda node: node.is_head)
    mend = "end what listens there, or choose another service.port (for `ray-gym serve`; runs need none)"
    return [
        Result(node, "service.port", problem or f"{host}:{port} is free, or Serve's", mend if problem else "")
        for node, problem in answers.items()
    ]


def _storage(nodes: ExaminedNodes, key: str, folder: Path) -> list[Result]:
    """Checks a shared folder, and returns a result for each node with a problem, or one for the cluster if there is
    none. Each node writes a file of its own; then each looks for the files of all others, and tries to take a lock that
    this process holds. `key`: the folder's key in the config.
    """
    mend = SHARE_IT.format(key=key)
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    tried = f"{folder}" if existing == folder else f"{folder} is not there yet; in {existing}"
    try:
        with _scratch(existing) as scratch, hold_lock(scratch):
            names = {name: f"node-{index}" for index, name in enumerate(nodes.answering)}
            wrote = nodes.ask_each("write", {node: (scratch, name) for node, name in names.items()})
            written = {names[node]: node for node, problem in wrote.items() if not problem}
            read = nodes.ask_each("read", dict.fromkeys(written.values(), (scratch, written)))
            lock = nodes.ask_each("lock", dict.fromkeys(written.values(), (scratch,)))
            problems = {**_problems(lock), **_problems(read), **_problems(wrote)}
    except OSError as error:
        return [Result(HERE, key, f"can't write in {folder}: {error.strerror or error}", mend)]
    if problems:
        return [Result(node, key, problem, mend) for node, problem in problems.items()]
    return [Result(CLUSTER, key, f"{tried}: {len(wrote)} nodes write, lock, flush, and see each other's files")]


def _problems(answers: Mapping[str, str | None]) -> dict[str, str]:
    """Returns the answers that are problems, by node. None is no problem."""
    return {node: problem for node, problem in answers.items() if problem}


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Makes a new folder in `folder`, and removes it at the end of the context. Errors: OSError if it can't be made."""
    scratch = folder / f".ray-gym-doctor-{uuid.uuid4().hex[:12]}"
    scratch.mkdir()
    try:
        yield scratch
    finally:
        with suppress(OSError):
            shutil.rmtree(scratch)
