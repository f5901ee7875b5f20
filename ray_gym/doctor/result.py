"""Defines the result of a check: which node it is about, whether that is well, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass

CLUSTER = "cluster"
"""In the place of a node, for a result that concerns all."""


@dataclass(frozen=True, slots=True)
class Result:
    """A result says what a check found on a node."""

    node: str
    check: str
    found: str
    mend: str = ""
    """Advice on how to mend it; empty if it is well."""

    @property
    def is_well(self) -> bool:
        """Returns True if there is nothing to mend."""
        return not self.mend
