"""The parity benchmark fails beyond its bounds."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.parity import Compared


def test_a_case_holds_only_within_its_bounds() -> None:
    def compared(differences: list[float], **changes: Any) -> list[str]:
        values = {"episodes": 4, "samples": 4, "multi_turn": 4, "differences": differences, **changes}
        return Compared("float32", "plain-1.0", 4, **values).problems()

    assert compared([1e-6] * 100) == []
    assert "max" in compared([1e-6] * 100 + [3e-4])[0]
    assert "mean" in compared([3e-5] * 100)[0]
    assert "nothing" in compared([])[0]
    assert "cuts off" in compared([1e-6] * 100, outside=1)[0]
    assert "edge" in compared([1e-6] * 100, at_edge=1)[0]
    assert "asked" in compared([1e-6], episodes=3)[0]
    assert "generated span" in compared([1e-6], multi_turn=1)[0]
    assert "mean" in compared([math.nan])[0]
