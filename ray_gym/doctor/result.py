"""Defines the result of a check: the node that it is about, its finding, and advice on how to mend a problem."""

from __future__ import annotations

from dataclasses import dataclass

CLUSTER = "cluster"
"""Stands in place of a node's name, for a result that concerns the whole cluster."""


@dataclass(frozen=True, slots=True)
class Result:
    """Holds the finding of a check on a node."""

    node: str
    check: str
    found: str
    mend: str = ""
    """Advice on how to mend the problem; empty if there is none."""

    @property
    def is_well(self) -> bool:
        """Returns True if there is nothing to mend."""
        return not self.mend
