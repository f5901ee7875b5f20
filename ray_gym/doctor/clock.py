"""Checks that clocks agree: leases, heartbeats and the times in records are compared between nodes."""

from __future__ import annotations

from dataclasses import dataclass

from ray_gym.doctor.result import Result

MOST_S = 1.0
"""Seconds that a node's clock may be ahead or behind."""


@dataclass(frozen=True, slots=True)
class ClockReading:
    """A reading of a node's clock lies between two of one's own, all in seconds of Unix time."""

    before: float
    there: float
    after: float

    @property
    def skew_s(self) -> float:
        """Returns the least seconds that the node's clock is ahead (positive) or behind; 0 if the time of the answer's
        way may explain all.
        """
        return max(0.0, self.there - self.after) or min(0.0, self.there - self.before)


def check_clock(node: str, reading: ClockReading) -> Result:
    """Checks a node's clock."""
    skew = reading.skew_s
    if abs(skew) <= MOST_S:
        return Result(node, "clock", f"within {max(abs(skew), reading.after - reading.before):.2f} s")
    return Result(node, "clock", f"{abs(skew):.1f} s {'ahead' if skew > 0 else 'behind'}", "let chrony or ntpd set it")
