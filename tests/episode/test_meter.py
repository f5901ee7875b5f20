"""Checks what calls take that fail, are cancelled or tell nothing, and that waiting to begin is nobody's time."""

from __future__ import annotations

import asyncio
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


async def call(meter: Meter, ask: Ask, clock: ActiveClock | None = None) -> Completion:
    return await meter.call("m", REQUEST, NOT_COUNTED, clock or ActiveClock(), ask)


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
