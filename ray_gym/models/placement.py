"""Describes what a model's replicas need of a cluster's nodes, so that a run can check for it before they start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Replicas:
    """Describes `count` replicas with equal needs: the CPUs and GPUs of each. Each replica is on one node, even if it
    has several tensor-parallel ranks.

    A replica that is a placement group is described by its bundles: bundles with equal needs count like replicas here.
    """

    count: int
    cpus: float
    gpus: float
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that the node of each replica has to have."""
    apart: int = 1
    """Number of these replicas that must all be on different nodes (bundles of one placement group); 1 if any may share
    a node.
    """
