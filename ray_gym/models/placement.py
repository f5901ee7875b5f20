"""Describes what a model's replicas need of a cluster's nodes, so that room can be looked for before they are started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Replicas:
    """Each is on one node, also where it is several tensor-parallel ranks; of a placement group, like bundles are one of these."""

    count: int
    cpus: float
    gpus: float
    labels: Mapping[str, str] = field(default_factory=dict)
    """That its node has to have."""
    apart: int = 1
    """So many of them, those of one placement group, each need a node that has none of the others."""
