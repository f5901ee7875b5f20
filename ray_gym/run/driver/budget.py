"""Decides how much each worker may spend of `limits.max_cost`. Invariant: what was spent, and what workers may still
spend, is never more than the limit.

It is a state machine without tasks and files. A worker asks for what its calls need, spends of what it was granted, and
gives back what it does not need. If a call needs more than is left, money is scarce: all workers give back what no call
has reserved. If no worker has anything then, and still no call that waits can be paid, the budget is used up.

What a worker was granted and has not accounted for when it dies counts as spent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ray_gym.episode.purse import Funds


@dataclass(slots=True)
class _Account:
    granted: int = 0
    funds: Funds = field(default_factory=Funds)

    @property
    def held(self) -> int:
        """Returns the picos that the worker may still spend."""
        return max(0, self.granted - self.funds.given_back - self.funds.spent)

    @property
    def charged(self) -> int:
        """Returns the picos that the worker has spent or may still spend."""
        return self.funds.spent + self.held


@dataclass(slots=True)
class Budget:
    """Holds the budget of a run. All amounts are picos (`ray_gym.models.price`)."""

    limit: int
    """Most that may be spent."""
    before: int = 0
    """Picos charged to workers that are gone, earlier drivers' included."""
    _accounts: dict[str, _Account] = field(default_factory=dict)

    @property
    def charged(self) -> int:
        """Returns the picos that were spent, and that workers may still spend."""
        return self.before + sum(account.charged for account in self._accounts.values())

    @property
    def left(self) -> int:
        """Returns the picos that may still be granted."""
        return max(0, self.limit - self.charged)

    @property
    def is_scarce(self) -> bool:
        """Says whether a call waits that needs more than is left."""
        return any(account.funds.needed > self.left for account in self._accounts.values())

    @property
    def is_used_up(self) -> bool:
        """Says whether no call that waits can ever be paid: each needs more than is left, and no worker has anything."""
        needs = [account.funds.needed for account in self._accounts.values() if account.funds.needed]
        holds = any(account.held for account in self._accounts.values())
        return bool(needs) and min(needs) > self.left and not holds

    @property
    def least_needed(self) -> int:
        """Returns the picos that the cheapest of the first calls that wait needs; 0 if none waits."""
        return min((one.funds.needed for one in self._accounts.values() if one.funds.needed), default=0)

    def take(self, worker: str, funds: Funds) -> None:
        """Takes a worker's report."""
        self._account(worker).funds = funds

    def offer(self, worker: str) -> int:
        """Returns the picos that the worker may be granted now: all that it wants; what its first call needs if there
        is not so much, or money is scarce; 0 if there is not that either.
        """
        funds, left = self._account(worker).funds, self.left
        amounts = (funds.needed,) if self.is_scarce else (funds.wanted, funds.needed)
        return next((amount for amount in amounts if amount <= left), 0)

    def grant(self, worker: str, amount: int) -> None:
        """Grants a worker some picos, at most those that are left. Its next report says what it needs then."""
        account = self._account(worker)
        account.granted += amount
        if amount:
            spent, given_back = account.funds.spent, account.funds.given_back
            account.funds = Funds(spent, given_back)

    def granted(self, worker: str) -> int:
        """Returns the picos that a worker was granted since it started."""
        return self._account(worker).granted

    def close(self, worker: str) -> None:
        """Closes the account of a worker that is gone: what it has not accounted for is spent."""
        self.before += self._accounts.pop(worker, _Account()).charged

    def _account(self, worker: str) -> _Account:
        return self._accounts.setdefault(worker, _Account())
