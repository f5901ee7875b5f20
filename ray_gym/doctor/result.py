"""What a check says: about which node, whether it is well, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass

CLUSTER = "cluster"
"""In the place of a node, for what is of all."""


@dataclass(frozen=True, slots=True)
class Result:
    node: str
    check: str
    found: str
    mend: str = ""
    """Empty if it is well."""

    @property
    def well(self) -> bool:
        return not self.mend
