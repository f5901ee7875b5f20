"""Checks that each replica and worker of a config has room on a single node, rather than in the sum of all nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ray_gym.doctor.result import CLUSTER, Result
from ray_gym.models.placement import Replicas

MORE = "add such nodes (a pool's minimum or maximum), ask for fewer, or change where they may be"


@dataclass(frozen=True, slots=True)
class Room:
    """Holds the CPUs and GPUs of a node that are left for placing: at first all that the node has, even if they are in
    use now.
    """

    node: str
    cpus: float
    gpus: float
    labels: Mapping[str, str]


def check_resources(
    rooms: Sequence[Room], models: Mapping[str, Sequence[Replicas]], workers: int, cpus_per_worker: float
) -> list[Result]:
    """Places replicas and workers on the nodes, in thought only, and returns a result for each kind of replica and one
    for the workers. The replicas with the most GPUs come first, each on the node where the least would be left over.

    `rooms`: all nodes. `models`: replicas by the model's name. `workers`: their number; they are left out if
    `cpus_per_worker` is 0.
    """
    results = []
    left = list(rooms)
    flat = [(name, asked) for name, placed in models.items() for asked in placed]
    for name, asked in sorted(flat, key=lambda item: (-item[1].gpus, -item[1].cpus)):
        left, count = _place(left, asked)
        results.append(_result(f"models.{name}", asked, count, rooms))
    if cpus_per_worker:
        asked = Replicas(workers, cpus_per_worker, 0)
        left, count = _place(left, asked)
        results.append(_result("fanout.workers", asked, count, rooms))
    return results


def fits(room: Room, asked: Replicas) -> bool:
    """Returns True if one replica fits on a node, by its CPUs, GPUs and labels."""
    return room.gpus >= asked.gpus and room.cpus >= asked.cpus and has_labels(room.labels, asked.labels)


def has_labels(labels: Mapping[str, str], selector: Mapping[str, str]) -> bool:
    """Returns True if a node's labels match a selector, as Ray understands it: VALUE, !VALUE, in(A,B), !in(A,B)."""
    for key, value in selector.items():
        negated, listed, plain = re.fullmatch(r"(!?)(?:in\((.*)\)|(.*))", value, re.DOTALL).groups()  # type: ignore[union-attr]
        values = [each.strip() for each in listed.split(",")] if listed is not None else [plain]
        if (labels.get(key) in values) == bool(negated):
            return False
    return True


def _place(rooms: list[Room], asked: Replicas) -> tuple[list[Room], int]:
    """Places replicas one by one until none fits any more. Returns the nodes with the room that is left, and the number
    of replicas that found a place.
    """
    left = list(rooms)
    for placed in range(asked.count):
        fitting = [index for index, room in enumerate(left) if fits(room, asked)]
        if not fitting:
            return left, placed
        best = min(fitting, key=lambda index: (left[index].gpus, left[index].cpus))
        room = left[best]
        left[best] = replace(room, cpus=room.cpus - asked.cpus, gpus=room.gpus - asked.gpus)
    return left, asked.count


def _result(what: str, asked: Replicas, placed: int, rooms: Sequence[Room]) -> Result:
    """Returns the result for the replicas or workers of one kind, with advice if not all of them found a place. `what`:
    key of the config. `placed`: number that found a place. `rooms`: all nodes before anything is placed.
    """
    each = ", ".join(part for part in (f"{asked.gpus:g} GPUs" * (asked.gpus > 0), f"{asked.cpus:g} CPUs") if part)
    labels = "".join(f" {key}={value}" for key, value in asked.labels.items())
    wanted = f"{asked.count} times {each} on one node{f' with{labels}' if labels else ''}"
    nodes = sum(fits(room, asked) for room in rooms)
    if placed == asked.count and asked.apart <= nodes:
        return Result(CLUSTER, what, f"room for {wanted}")
    labelled = [room for room in rooms if has_labels(room.labels, asked.labels)]
    if not labelled:
        return Result(
            CLUSTER, what, f"{wanted}: no node has{labels}", "label nodes so (`ray start --labels`), or " + MORE
        )
    if not any(fits(room, asked) for room in labelled):
        largest = max(labelled, key=lambda room: (room.gpus, room.cpus))
        found = f"{wanted}: the largest such node ({largest.node}) has {largest.gpus:g} GPUs, {largest.cpus:g} CPUs"
        return Result(CLUSTER, what, found, "tensor-parallel ranks of a replica are on one node: " + MORE)
    if asked.apart > nodes:
        found = f"{wanted}, {asked.apart} of them on as many nodes (STRICT_SPREAD): {nodes} such nodes"
        return Result(CLUSTER, what, found, MORE)
    return Result(CLUSTER, what, f"{wanted}: room for {placed} beside what else is asked", MORE)
