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

    def tell(self, worker: str, why: str, others: int | None) -> None:
        """Logs the loss of a worker, of which `others` episodes go on elsewhere (None: the run ends by it), or
        counts it for a later line.
        """
        unsaid = self._seldom.take(why)
        if unsaid is not None:
            more = f"; {unsaid} others were lost likewise since it was last said" if unsaid else ""
            then = "the run ends by it" if others is None else f"{others} episodes go on elsewhere"
            logger.warning("worker %s is lost: %s; %s%s", worker, why, then, more)
