"""Starts an examiner on each node of the cluster, and asks them questions: all at once, and each with a deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ray_gym.doctor.examiner import Examiner
from ray_gym.doctor.resources import Room
from ray_gym.errors import describe


@dataclass(frozen=True, slots=True)
class Node:
    """Holds a node of the cluster, and the examiner (an actor) that looks at it."""

    name: str
    """Short name, which no other node has."""
    room: Room
    is_head: bool
    examiner: Any


@dataclass
class ExaminedNodes:
    """Holds the nodes that answer, and those that are `silent`.

    A node that fails to answer a question, or to do so in time, is asked no more, as the same cause may block it again.
    """

    answering: dict[str, Node]
    deadline_s: float
    silent: dict[str, str] = field(default_factory=dict)
    """Reasons why nodes did not answer, by the node's name."""

    def ask(self, method: str, *arguments: Any, only: Callable[[Node], bool] = lambda node: True) -> dict[str, Any]:
        """Asks the nodes that `only` accepts one question, and returns their answers, by the node's name. Nodes that
        fail to answer are moved to `silent`. `method`: name of the examiner's method.
        """
        return self.ask_each(method, {name: arguments for name, node in self.answering.items() if only(node)})

    def ask_each(self, method: str, arguments: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
        """Asks each of the nodes in `arguments` with its own arguments, and returns the answers, by the node's name.
        Nodes that are silent already are not asked; nodes that fail to answer are moved to `silent`. `method`: name of
        the examiner's method.
        """
        asked = {
            name: getattr(self.answering[name].examiner, method).remote(*given)
            for name, given in arguments.items()
            if name in self.answering
        }
        if asked:
            ray.wait(list(asked.values()), num_returns=len(asked), timeout=self.deadline_s)
        answers = {}
        for name, reference in asked.items():
            try:
                answers[name] = ray.get(reference, timeout=0)
            except RayError as error:
                self._leave_out(name, method, error)
        return answers

    def _leave_out(self, name: str, method: str, error: RayError) -> None:
        if isinstance(error, RayTaskError):
            reason = describe(error.cause or error)
        elif isinstance(error, RayActorError):
            reason = " ".join(str(error).split())[-300:]
        else:
            reason = f"no answer within {self.deadline_s:g} s"
        self.silent[name] = f"{method}: {reason}"
        del self.answering[name]


@contextmanager
def start_examiners(deadline_s: float) -> Iterator[ExaminedNodes]:
    """Starts an examiner on every living node, and yields the nodes while the block runs. After it the examiners are
    killed. `deadline_s`: seconds for each answer.
    """
    found = [node for node in ray.nodes() if node["Alive"]]
    names = names_of([(node["NodeManagerAddress"], node["NodeID"]) for node in found])
    nodes = {name: _with_examiner(name, node) for name, node in zip(names, found, strict=True)}
    try:
        yield ExaminedNodes(nodes, deadline_s)
    finally:
        for node in nodes.values():
            ray.kill(node.examiner)


def names_of(nodes: list[tuple[str, str]]) -> list[str]:
    """Returns a name for each node, of its (address, id): the address, or if several nodes have it, the address and the
    first 6 characters of the id.
    """
    addresses = [address for address, _ in nodes]
    return [address if addresses.count(address) == 1 else f"{address}/{id[:6]}" for address, id in nodes]


def _with_examiner(name: str, node: Mapping[str, Any]) -> Node:
    there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
    examiner = ray.remote(Examiner).options(num_cpus=0, scheduling_strategy=there, max_restarts=0).remote()
    resources = node["Resources"]
    room = Room(name, resources.get("CPU", 0), resources.get("GPU", 0), node.get("Labels") or {})
    return Node(name, room, "node:__internal_head__" in resources, examiner)
