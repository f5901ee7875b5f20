"""Defines the price of a model, and computes what its calls cost.

Costs are whole numbers of picos, so that sums are exact: a pico is 1e-12 of the unit of money that the prices of the
config are in. No currency is named anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from ray_gym.models.model import Completion
from ray_gym.models.numbers import Real

PICOS = 10**12
"""Picos in a unit of money."""
_TOKENS = 10**6
"""Number of tokens that a price of the config is for."""

Money = Annotated[Real, Field(ge=0, allow_inf_nan=False)]
"""Amount of money of a config: a finite number from 0."""


@dataclass(frozen=True, slots=True)
class Price:
    """Tells what a million tokens of a model cost."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    input: Money
    """Money for a million prompt tokens that the model had not cached."""
    output: Money
    """Money for a million generated tokens."""
    cached: Money | None = None
    """Money for a million prompt tokens that the model had cached. Default: that of `input`."""

    def cost(self, completion: Completion) -> int:
        """Returns what a call cost, in picos, by the numbers of tokens that its completion tells."""
        prompt = max(0, completion.prompt_tokens)
        cached = min(max(0, completion.cached_tokens), prompt)
        generated = max(0, completion.generated_tokens)
        return self._cost(prompt - cached, cached, generated)

    def most(self, prompt: int, generated: int) -> int:
        """Returns the most that a call may cost, in picos. `prompt` and `generated`: the most tokens that it may have."""
        return max(self._cost(prompt, 0, generated), self._cost(0, prompt, generated))

    def _cost(self, fresh: int, cached: int, generated: int) -> int:
        of_cached = self.input if self.cached is None else self.cached
        return fresh * _per_token(self.input) + cached * _per_token(of_cached) + generated * _per_token(self.output)


def picos_in(money: float) -> int:
    """Returns an amount of money in picos, rounded down."""
    return int((Decimal(repr(float(money))) * PICOS).to_integral_value(ROUND_FLOOR))


def money_in(picos: int) -> float:
    """Returns an amount of picos in units of money."""
    return picos / PICOS


def told_money(money: float) -> str:
    """Returns an amount of money for people: at least two decimals, and four digits of a small amount."""
    return f"{money:,.2f}" if money >= 100 or not money else f"{money:.4g}"


def is_told(completion: Completion) -> bool:
    """Says whether a completion tells how many tokens its call took. Some endpoints don't. A conversation that did not
    fit the model's context took none.
    """
    return bool(completion.prompt_tokens or completion.generated_tokens) or completion.finish_reason == "context_full"


@lru_cache(maxsize=256)
def _per_token(price: float) -> int:
    """Returns the picos for a token, by the money for a million; a fraction of a pico counts as a whole one."""
    return int((Decimal(repr(price)) * PICOS / _TOKENS).to_integral_value(ROUND_CEILING))
