"""What a model's replicas ask of the nodes of a cluster: for whoever looks, before they are started, whether there is room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


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


@runtime_checkable
class OnNodes(Protocol):
    """An engine that puts replicas on nodes of the cluster."""

    def placed(self) -> Sequence[Replicas]:
        """Empty where it starts nothing: it attaches to what is up."""
        ...

    def missing_files(self) -> str | None:
        """On a node: which of the files that a replica loads can't be read there, and what to do. None if all can."""
        ...
