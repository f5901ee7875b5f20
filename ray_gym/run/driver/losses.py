"""Tells which workers are lost, without a line for each of many that are lost for the same reason."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from dataclasses import dataclass, field

from ray_gym.hosting.room import SAY_S
from ray_gym.run.driver.tally import kind_of

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Losses:
    """Logs the losses of workers: those for equal reasons once in `SAY_S` seconds, with a count."""

    _said_at: dict[str, float] = field(default_factory=dict)
    """Times (monotonic, seconds) of the last lines, by what their reasons have in common."""
    _unsaid: Counter[str] = field(default_factory=Counter)
    """Losses since the last line, by what their reasons have in common."""

    def tell(self, worker: str, why: str, others: int) -> None:
        """Logs the loss of a worker, of which `others` episodes go on elsewhere, or counts it for a later line."""
        kind, now = kind_of(why), time.monotonic()
        if now - self._said_at.get(kind, -math.inf) < SAY_S:
            self._unsaid[kind] += 1
            return
        self._said_at[kind] = now
        unsaid = self._unsaid.pop(kind, 0)
        more = f"; {unsaid} others were lost likewise since it was last said" if unsaid else ""
        logger.warning("worker %s is lost: %s; %d episodes go on elsewhere%s", worker, why, others, more)
