"""Whether clocks agree: leases, heartbeats and the times in records are compared between nodes."""

from __future__ import annotations

from dataclasses import dataclass

from ray_gym.doctor.result import Result

MOST_S = 1.0


@dataclass(frozen=True, slots=True)
class Reading:
    """Of a node's clock, between two of one's own."""

    before: float
    there: float
    after: float

    @property
    def skew_s(self) -> float:
        """At least that much, ahead if positive; 0 if the answer's way alone may explain it."""
        return max(0.0, self.there - self.after) or min(0.0, self.there - self.before)


def check_clock(node: str, reading: Reading) -> Result:
    skew = reading.skew_s
    if abs(skew) <= MOST_S:
        return Result(node, "clock", f"within {max(abs(skew), reading.after - reading.before):.2f} s")
    return Result(node, "clock", f"{abs(skew):.1f} s {'ahead' if skew > 0 else 'behind'}", "let chrony or ntpd set it")
