"""Meters model calls: a call begins when the most that it may cost is reserved (`limits.max_cost`), and when its
endpoint's limits a minute have room for it. Both waits are not the episode's time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from ray_gym.aio.clock import ActiveClock
from ray_gym.episode.purse import Purse
from ray_gym.errors import EpisodeFailure
from ray_gym.models.model import Completion, CompletionRequest
from ray_gym.models.most_tokens import Counted, most_prompt_tokens
from ray_gym.models.price import Price, is_told
from ray_gym.models.rates import RateLimit


@dataclass(frozen=True, slots=True)
class Use:
    """Says what a call takes."""

    cost: int = 0
    """Picos (`ray_gym.models.price`); 0 if nothing is paid for."""
    tokens: int = 0
    """Tokens of its prompt and its answer."""


@dataclass(frozen=True, slots=True)
class Meter:
    """A meter lets the calls of one worker begin, and counts what they took."""

    purse: Purse | None = None
    """Allotment that calls are paid from; None if the run's cost has no limit."""
    rates: Mapping[str, RateLimit] = field(default_factory=dict)
    """Limits a minute by the name of the model, of those that have any."""

    def applies_to(self, model: str) -> bool:
        """Says whether calls of a model are metered."""
        return model in self.rates or (self.purse is not None and model in self.purse.prices)

    async def call(
        self,
        model: str,
        request: CompletionRequest,
        counted: Counted,
        clock: ActiveClock,
        ask: Callable[[], Awaitable[Completion]],
        context_tokens: int | None = None,
    ) -> Completion:
        """Waits until a call may begin, makes it by `ask`, and returns its completion. `counted`: what is known of the
        conversation's length. `context_tokens`: most tokens that prompt and answer have together; None if that is not
        known.

        A call that fails takes nothing. One that is cancelled or late, or whose answer tells no tokens, takes the most
        that it may: nobody knows. Errors: those of `ask`.
        """
        price = self.purse.prices.get(model) if self.purse is not None else None
        most = _most(request, counted, price, context_tokens)
        if self.purse is not None and price is not None:
            with clock.count_wait():
                await self.purse.reserve(most.cost)
        sent = False
        use = most
        try:
            if model in self.rates:
                with clock.count_wait():
                    await self.rates[model].wait(most.tokens)
            sent = True
            completion = await ask()
            use = _told(completion, price) if is_told(completion) else most
            return completion
        except EpisodeFailure:
            use = Use()
            raise
        finally:
            if self.purse is not None and price is not None:
                self.purse.settle(most.cost, use.cost if sent else 0)
            if model in self.rates and sent:
                self.rates[model].give_back(most.tokens - use.tokens)


def _most(request: CompletionRequest, counted: Counted, price: Price | None, context_tokens: int | None) -> Use:
    """Returns the most that a call may take. The prompt may be shorter than its bound, so what a context leaves for the
    answer is not known: the dearest of all that fits is a longest prompt or a longest answer.
    """
    prompt, generated = most_prompt_tokens(request, counted), request.sampling.max_tokens
    room = context_tokens if context_tokens is not None else prompt + generated
    prompt, generated = min(prompt, room), min(generated, room)
    dearest = ((prompt, min(generated, room - prompt)), (min(prompt, room - generated), generated))
    cost = max(price.most(*tokens) for tokens in dearest) if price is not None else 0
    return Use(cost, min(prompt + generated, room))


def _told(completion: Completion, price: Price | None) -> Use:
    tokens = completion.prompt_tokens + completion.generated_tokens
    return Use(price.cost(completion) if price is not None else 0, tokens)
