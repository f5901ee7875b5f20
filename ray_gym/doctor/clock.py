"""Checks that the clocks of nodes agree: leases, heartbeats and the times in records are compared between nodes."""

from __future__ import annotations

from dataclasses import dataclass

from ray_gym.doctor.result import Result

MOST_S = 1.0
"""Seconds that a node's clock may be ahead or behind."""


@dataclass(frozen=True, slots=True)
class ClockReading:
    """Holds the time `there` that a node answered, and the times `before` and `after` of this machine around the
    question, in seconds of Unix time.
    """

    before: float
    there: float
    after: float

    @property
    def skew_s(self) -> float:
        """Returns the least seconds by which the node's clock must be ahead (positive) or behind (negative); 0 if the
        time that the answer took may explain all of the difference.
        """
        return max(0.0, self.there - self.after) or min(0.0, self.there - self.before)


def check_clock(node: str, reading: ClockReading) -> Result:
    """Returns the result of the check that a node's clock is at most `MOST_S` seconds ahead or behind. `node`: its
    name.
    """
    skew = reading.skew_s
    if abs(skew) <= MOST_S:
        return Result(node, "clock", f"within {max(abs(skew), reading.after - reading.before):.2f} s")
    return Result(node, "clock", f"{abs(skew):.1f} s {'ahead' if skew > 0 else 'behind'}", "let chrony or ntpd set it")
