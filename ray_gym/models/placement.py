"""Describes what a model's replicas need of a cluster's nodes, so that room can be looked for before they are started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Replicas:
    """Describes replicas that are alike. Each is on one node, also where it is several tensor-parallel ranks; of a
    placement group, bundles that are alike count as one of these.
    """

    count: int
    cpus: float
    gpus: float
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that its node has to have."""
    apart: int = 1
    """Number of replicas (those of one placement group) that each need a node which has none of the others."""
