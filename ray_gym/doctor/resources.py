"""Checks that the replicas and workers of a config have room on the nodes that there are: on whole nodes, not in the
sum.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ray_gym.doctor.result import CLUSTER, Result
from ray_gym.models.placement import Replicas

MORE = "add such nodes (a pool's minimum or maximum), ask for fewer, or change where they may be"


@dataclass(frozen=True, slots=True)
class Room:
    """The room of a node is all that it has, even if it is in use now."""

    node: str
    cpus: float
    gpus: float
    labels: Mapping[str, str]


def check_resources(
    rooms: Sequence[Room], models: Mapping[str, Sequence[Replicas]], workers: int, cpus_per_worker: float
) -> list[Result]:
    """Places replicas and workers on the nodes: the largest first, each where the least is left over, as a scheduler
    would do well to.
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
    """Says whether one replica fits on a node."""
    return room.gpus >= asked.gpus and room.cpus >= asked.cpus and has_labels(room.labels, asked.labels)


def has_labels(labels: Mapping[str, str], selector: Mapping[str, str]) -> bool:
    """Says whether labels match a selector, as Ray understands it: VALUE, !VALUE, in(A,B), !in(A,B)."""
    for key, value in selector.items():
        negated, listed, plain = re.fullmatch(r"(!?)(?:in\((.*)\)|(.*))", value, re.DOTALL).groups()  # type: ignore[union-attr]
        values = [each.strip() for each in listed.split(",")] if listed is not None else [plain]
        if (labels.get(key) in values) == bool(negated):
            return False
    return True


def _place(rooms: list[Room], asked: Replicas) -> tuple[list[Room], int]:
    """Places replicas, and returns the room that is left, and how many found a place."""
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
    """Describes whether the replicas or workers of one kind found a place, and what to do if not."""
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
