"""Describes packages that keep accounts."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, pick

PEOPLE = "ann bo cy dee"


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "village family club river", "bank ledger accounts purse"),
        "Book": pick(rng, "Ledger Book Bank Register"),
        "fee": str(rng.randint(2, 5)),
        "free": str(rng.randint(40, 60)),
        "limit": str(10 * rng.randint(5, 12)),
    }


FILES = {
    "__init__.py": '''
"""Keeps accounts of whole cents."""

from .book import $Book
from .fees import fee_of, split

__all__ = ["$Book", "fee_of", "split"]
''',
    "fees.py": '''
"""Works out fees and shares."""

FEE = $fee
FREE_BELOW = $free


def fee_of(amount):
    """Returns the fee of a transfer: none below $free, else $fee for each full hundred, and at least $fee."""
    if amount < FREE_BELOW:
        return 0
    return max(FEE, amount // 100 * FEE)


def split(amount, people):
    """Splits an amount between people as evenly as whole cents allow; the first ones get a cent more. Nobody to split
    between is a ValueError.
    """
    if people < 1:
        raise ValueError("nobody to split between")
    share, rest = divmod(amount, people)
    return [share + 1 if number < rest else share for number in range(people)]
''',
    "book.py": '''
"""Holds the accounts."""

from .fees import fee_of

LIMIT = $limit


class $Book:
    """Holds balances by name, and what happened to them."""

    def __init__(self, limit=LIMIT):
        """`limit`: how far below 0 a balance may go."""
        self.limit = limit
        self.balances = {}
        self.lines = []

    def pay_in(self, name, amount):
        """Adds to a balance, which begins at 0. An amount below 1 is a ValueError."""
        if amount < 1:
            raise ValueError("pay in at least one cent")
        self.balances[name] = self.balance(name) + amount
        self.lines.append((name, amount))

    def balance(self, name):
        """Returns a balance; 0 for an unknown name."""
        return self.balances.get(name, 0)

    def can_pay(self, name, amount):
        """Says whether a balance would stay within its limit; reaching the limit is allowed."""
        return self.balance(name) - amount >= -self.limit

    def transfer(self, giver, taker, amount):
        """Moves an amount, for which the giver pays the fee. Returns False, and moves nothing, if the giver can't pay
        both, or if giver and taker are the same.
        """
        cost = amount + fee_of(amount)
        if giver == taker or not self.can_pay(giver, cost):
            return False
        self.balances[giver] = self.balance(giver) - cost
        self.balances[taker] = self.balance(taker) + amount
        self.lines.append((giver, -cost))
        self.lines.append((taker, amount))
        return True

    def statement(self, name, last=3):
        """Returns the last changes of a balance, the oldest first; at most `last`."""
        own = [amount for owner, amount in self.lines if owner == name]
        if last < 1:
            return []
        return own[-last:]

    def in_debt(self):
        """Returns the names whose balances are below 0, the deepest in debt first; equal ones by name."""
        return sorted([name for name in self.balances if self.balances[name] < 0], key=lambda name: (self.balances[name], name))
''',
}


def probe(rng: random.Random, names: Names) -> Probe:
    book, free, limit = names["Book"], int(names["free"]), int(names["limit"])
    kind = rng.randrange(5)
    if kind == 0:
        return Probe(
            (), f"fee_of({rng.choice((free - 1, free, free + 1, 99, 100, 101, 199, 200, rng.randint(1, 900)))})"
        )
    if kind == 1:
        return Probe((), f"split({rng.randint(0, 40)}, {rng.randint(0, 7)})")
    lines = [f"book = {book}({rng.choice(('', str(rng.randint(0, 30))))})"]
    for _ in range(rng.randint(1, 4)):
        lines.append(f"book.pay_in({pick(rng, PEOPLE)!r}, {rng.randint(1, 200)})")
    if kind == 2:
        balance = f"book.balance({pick(rng, PEOPLE)!r})"
        amount = f"{balance} + {rng.choice((limit - 1, limit, limit + 1, 0, 20, 30))}"
        return Probe(tuple(lines), f"book.can_pay({pick(rng, PEOPLE)!r}, {amount})")
    moves = [
        f"book.transfer({pick(rng, PEOPLE)!r}, {pick(rng, PEOPLE)!r}, {rng.choice((free - 1, free, rng.randint(1, 250)))})"
        for _ in range(rng.randint(1, 4))
    ]
    lines.append(f"moved = [{', '.join(moves)}]")
    asks = rng.choice(("book.in_debt()", f"book.statement({pick(rng, PEOPLE)!r})", "book.balances", "book.balances"))
    if asks.startswith("book.statement") and rng.random() < 0.4:
        asks = asks[:-1] + f", {rng.randint(0, 4)})"
    return Probe(tuple(lines), f"[moved, {asks}]")


LEDGER = Blueprint(
    "ledger", "It keeps accounts of whole cents, with fees and a limit for debts.", draw, FILES,
    "from $package import $Book, fee_of, split", probe,
)  # fmt: skip
