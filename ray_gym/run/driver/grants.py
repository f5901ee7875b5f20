"""Grants workers parts of `limits.max_cost`: what a run may have spent is on the disk before a worker may spend it.

So a run that is resumed counts all that its earlier drivers and workers have spent, whatever they died of.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from ray_gym.episode.purse import Allotment, Funds
from ray_gym.errors import RunFailed, UserError
from ray_gym.models.price import PICOS, money_in, picos_in, told_money
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.directory.location import shell_quoted
from ray_gym.run.directory.receipt import Receipt
from ray_gym.run.driver.budget import Budget

logger = logging.getLogger(__name__)

SPENT = "spent.json"
"""Name of the file in a run's directory that holds the most that the run may have spent."""


@dataclass(slots=True)
class Grants:
    """Grants the workers of one driver what they may spend."""

    budget: Budget
    directory: RunDirectory
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def load(cls, max_cost: float, directory: RunDirectory, committed: Iterable[Receipt]) -> Grants:
        """Loads what an open run has spent: what is written down, or what its committed episodes cost, if that is more
        since it was played without a limit of its cost. Blocks. Errors: OSError; UserError for a damaged file.
        """
        return cls(Budget(picos_in(max_cost), _spent(directory, committed)), directory)

    def take(self, worker: str, funds: Funds) -> None:
        """Takes a worker's report."""
        self.budget.take(worker, funds)

    async def allot(self, worker: str) -> Allotment:
        """Grants a worker what there is for it, after it was written down. Errors: RunFailed if it can't be written."""
        async with self._writing:
            if amount := self.budget.offer(worker):
                await asyncio.to_thread(self._write, self.budget.charged + amount)
                self.budget.grant(worker, amount)
        return Allotment(self.budget.granted(worker), self.budget.is_scarce)

    def close(self, worker: str) -> None:
        """Closes the account of a worker that is gone. What it has not accounted for is spent."""
        self.budget.close(worker)

    async def end(self) -> None:
        """Writes down what was spent, when all workers are gone. If that can't be written, the run keeps a number that
        is too high.
        """
        try:
            await asyncio.to_thread(self._write, self.budget.charged)
        except RunFailed as error:
            logger.warning(str(error))

    @property
    def failure(self) -> str | None:
        """Returns why the run can't go on, and how it can; None while there is money for a call."""
        budget = self.budget
        if not budget.is_used_up:
            return None
        limit, spent, needed = (told_money(money_in(n)) for n in (budget.limit, budget.charged, budget.least_needed))
        more = f"{2 * max(money_in(budget.limit), money_in(budget.charged + budget.least_needed)):.4g}"
        return (
            f"limits.max_cost: {limit} is used up: {spent} is spent, and the next call may cost {needed}; go on with "
            f"more by `ray-gym rollout --resume {shell_quoted(self.directory.location)} limits.max_cost={more}`"
        )

    def _write(self, picos: int) -> None:
        self.directory.write(SPENT, json.dumps({"picos": picos, "money": money_in(picos)}) + "\n")


def _spent(directory: RunDirectory, committed: Iterable[Receipt]) -> int:
    """Returns the picos that a run has spent. Errors: OSError; UserError for a damaged file."""
    in_rows = sum(round(cost * PICOS) for receipt in committed for _, cost in receipt.costs)
    try:
        return max(in_rows, int(json.loads(directory.storage.read(SPENT))["picos"]))
    except FileNotFoundError:
        return in_rows
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"{directory.location}/{SPENT}: this file is damaged: {error!r}; it says what the run has spent, as "
            '{"picos": N}: put a copy of it in its place'
        ) from None
