"""How often a worker's process looks for reference cycles: seldom, as playing makes none (what is played is freed when it is let go)."""

from __future__ import annotations

import gc

THRESHOLDS = (50_000, 20, 5)
"""What an environment's author leaves behind in cycles is bounded by their product, in objects. With 500 episodes in flight Python's own
(700, 10, 10) cost a sixth of a worker's time and pauses of a tenth of a second, (10,000, 5, 5) a tenth and 0.05 s."""


def look_seldom() -> None:
    """From now on. What is there already (code, mostly) is never looked at again."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
