"""Checks what calls take that fail, are cancelled or tell nothing, and that waiting to begin is nobody's time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest

from ray_gym.aio.clock import ActiveClock
from ray_gym.episode.meter import Meter
from ray_gym.episode.purse import Allotment, Funds, Purse
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest, Sampling
from ray_gym.models.most_tokens import NOT_COUNTED, most_prompt_tokens
from ray_gym.models.price import Price
from ray_gym.models.rates import RateLimit

REQUEST = CompletionRequest([Message("user", "Hello")], Sampling(max_tokens=100), "s", 0)
PRICE = Price(1, 2)
TOKENS = most_prompt_tokens(REQUEST) + 100
MOST = PRICE.most(TOKENS - 100, 100)

Ask = Callable[[], Awaitable[Completion]]


def metered(granted: int = 10 * MOST, rate: RateLimit | None = None) -> tuple[Meter, Purse]:
    purse = Purse({"m": PRICE}, lambda: None)
    purse.allot(Allotment(granted))
    return Meter(purse, {"m": rate} if rate is not None else {}), purse


async def call(
    meter: Meter,
    ask: Ask,
    clock: ActiveClock | None = None,
    request: CompletionRequest = REQUEST,
    context_tokens: int | None = None,
) -> Completion:
    return await meter.call("m", request, NOT_COUNTED, clock or ActiveClock(), ask, context_tokens)


def answers(**fields: int) -> Ask:
    async def ask() -> Completion:
        return Completion(Message("assistant", "Hi"), **fields)  # type: ignore[arg-type]

    return ask


async def test_a_call_costs_what_its_answer_tells() -> None:
    meter, purse = metered()
    await call(meter, answers(prompt_tokens=10, generated_tokens=3))
    assert purse.report() == Funds(spent=10 * 10**6 + 3 * 2 * 10**6)
    await call(meter, answers())
    assert purse.report().spent == 16 * 10**6 + MOST, "one that tells nothing may have cost the most"


async def test_a_call_that_fails_costs_nothing_and_one_that_is_late_the_most() -> None:
    async def fails() -> Completion:
        raise EpisodeFailure(FailureKind.INFRA, "model m", "HTTP 500")

    async def is_late() -> Completion:
        raise TimeoutError

    meter, purse = metered()
    with pytest.raises(EpisodeFailure):
        await call(meter, fails)
    assert purse.report() == Funds()
    with pytest.raises(TimeoutError):
        await call(meter, is_late)
    assert purse.report() == Funds(spent=MOST)


async def test_a_cancelled_call_costs_the_most_if_it_was_sent() -> None:
    meter, purse = metered()
    sent = asyncio.Event()

    async def hangs() -> Completion:
        sent.set()
        await asyncio.Event().wait()
        raise AssertionError

    calling = asyncio.create_task(call(meter, hangs))
    await sent.wait()
    calling.cancel()
    await asyncio.wait({calling})
    assert purse.report() == Funds(spent=MOST)


@pytest.mark.parametrize("waits_for", ["money", "room"])
async def test_a_call_that_waits_to_begin_ages_no_episode_and_costs_nothing_when_cancelled(waits_for: str) -> None:
    rate = RateLimit(0.01, None) if waits_for == "room" else None
    meter, purse = metered(0 if waits_for == "money" else MOST, rate)
    clock = ActiveClock()
    calling = asyncio.create_task(call(meter, answers(), clock))
    await asyncio.sleep(0)
    before = clock.elapsed_s
    done, _ = await asyncio.wait({calling}, timeout=0.05)
    assert not done and clock.elapsed_s == before
    calling.cancel()
    await asyncio.wait({calling})
    assert purse.report().spent == 0 and purse.free == (0 if waits_for == "money" else MOST)


async def test_tokens_that_were_not_taken_go_back_to_the_limit() -> None:
    rate = RateLimit(None, 60 * TOKENS * 1000)
    meter = Meter(rates={"m": rate})
    assert meter.applies_to("m") and not meter.applies_to("n")
    given: list[int] = []
    rate.give_back = given.append  # type: ignore[method-assign]
    await call(meter, answers(prompt_tokens=10, generated_tokens=3))
    await call(meter, answers())
    assert given == [TOKENS - 13, 0]


HUGE = CompletionRequest(REQUEST.messages, Sampling(max_tokens=1_000_000), "s", 0)


async def reserved(request: CompletionRequest, context_tokens: int | None, price: Price) -> tuple[int, int]:
    """Returns the picos and the tokens that are reserved for a call."""
    purse, rate = Purse({"m": price}, lambda: None), RateLimit(None, 10**12)
    purse.allot(Allotment(10**20))
    tokens: list[int] = []
    rate.give_back = tokens.append  # type: ignore[method-assign]
    free: list[int] = []

    async def ask() -> Completion:
        free.append(purse.free)
        return Completion(Message("assistant"), "context_full")

    await call(Meter(purse, {"m": rate}), ask, None, request, context_tokens)
    return 10**20 - free[0], tokens[0]


@pytest.mark.parametrize("price", [Price(1, 2), Price(3, 1), Price(2, 1, cached=5), Price(0, 1)])
async def test_no_call_takes_more_than_is_reserved_and_the_context_is_the_most(price: Price) -> None:
    """Prompts have any length up to their bound, and answers any that the context and `max_tokens` leave."""
    bound = most_prompt_tokens(REQUEST)
    for length, most in itertools.product((100, bound - 1, bound, bound + 50, 4 * bound), (1, 100, bound, 10**6)):
        request = CompletionRequest(REQUEST.messages, Sampling(max_tokens=most), "s", 0)
        fits = [(prompt, min(most, length - prompt)) for prompt in range(min(bound, length) + 1)]
        dearest = max(price.most(*tokens) for tokens in fits)
        assert await reserved(request, length, price) == (dearest, min(bound + most, length))


async def test_calls_are_at_once_whatever_an_agent_asks_for() -> None:
    context = 2000
    meter, purse = metered(PRICE.most(0, context) * 3)
    under_way, most, go = 0, 0, asyncio.Event()

    async def ask() -> Completion:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await go.wait()
        under_way -= 1
        return Completion(Message("assistant", "Hi"), prompt_tokens=10, generated_tokens=3)

    calls = [asyncio.create_task(call(meter, ask, None, HUGE, context)) for _ in range(5)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert under_way == 3
    go.set()
    await asyncio.gather(*calls)
    assert most == 3 and purse.report().spent == 5 * PRICE.most(10, 3)
