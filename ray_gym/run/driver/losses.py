"""Tells which workers are lost, without a line for each of many that are lost for the same reason."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from ray_gym.run.driver.seldom import Seldom

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Losses:
    """Logs the losses of workers: those for equal reasons once in a minute, with a count."""

    _seldom: Seldom = field(default_factory=Seldom)

    def tell(self, worker: str, why: str, others: int) -> None:
        """Logs the loss of a worker, of which `others` episodes go on elsewhere, or counts it for a later line."""
        unsaid = self._seldom.take(why)
        if unsaid is not None:
            more = f"; {unsaid} others were lost likewise since it was last said" if unsaid else ""
            logger.warning("worker %s is lost: %s; %d episodes go on elsewhere%s", worker, why, others, more)
