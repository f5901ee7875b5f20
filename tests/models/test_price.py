"""Checks what calls cost, and the most that they may."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import Completion, CompletionRequest, Sampling
from ray_gym.models.most_tokens import OF_MESSAGE, OF_TEMPLATE, Counted, most_prompt_tokens
from ray_gym.models.price import PICOS, Price, is_told, money_in, picos_in, told_money

AMOUNTS = st.decimals(0, 1000, places=4).map(float)
COUNTS = st.integers(0, 10**7)


def call(prompt: int, cached: int, generated: int) -> Completion:
    return Completion(Message("assistant"), prompt_tokens=prompt, cached_tokens=cached, generated_tokens=generated)


def test_a_call_costs_its_tokens_at_their_prices() -> None:
    price = Price(input=3, cached=0.3, output=15)
    assert money_in(price.cost(call(1_000_000, 400_000, 100_000))) == 1.8 + 0.12 + 1.5
    assert money_in(Price(input=3, output=15).cost(call(1_000_000, 400_000, 0))) == 3, "cached ones cost the same"
    assert Price(0.15, 0.6).cost(call(1, 0, 0)) == 150_000, "exact, to the pico"


@given(AMOUNTS, AMOUNTS, AMOUNTS, COUNTS, COUNTS, COUNTS)
def test_no_call_costs_more_than_its_most(
    price_in: float, price_out: float, cached_price: float, prompt: int, cached: int, generated: int
) -> None:
    price = Price(price_in, price_out, cached_price)
    cost = price.cost(call(prompt, cached, generated))
    assert 0 <= cost <= price.most(prompt, generated)
    assert price.most(prompt, generated) <= price.most(prompt + 1, generated + 1)


@given(AMOUNTS)
def test_amounts_are_exact(money: float) -> None:
    assert money_in(picos_in(money)) == money
    assert picos_in(money) <= money * PICOS + 1


def test_counts_that_make_no_sense_take_nothing_away() -> None:
    price = Price(1, 1)
    assert price.cost(call(-5, 0, -7)) == 0
    assert price.cost(call(10, 99, 0)) == price.cost(call(10, 10, 0)), "no more is cached than there is"


def test_an_endpoint_may_not_tell_its_tokens() -> None:
    assert is_told(call(1, 0, 0)) and not is_told(call(0, 0, 0))
    assert is_told(Completion(Message("assistant"), finish_reason="context_full")), "which took none"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"input": -1, "output": 1}, "greater than or equal to 0"),
        ({"input": float("nan"), "output": 1}, "finite number"),
        ({"input": 1, "output": "inf"}, "finite number"),
        ({"input": 1, "output": True}, "should be a number"),
        ({"input": 1}, "Field required"),
        ({"input": 1, "output": 1, "cashed": 1}, "cashed"),
    ],
)
def test_prices_that_are_none_are_refused(given: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        TypeAdapter(Price).validate_python(given)


def test_money_is_told_in_few_digits() -> None:
    assert [told_money(amount) for amount in (0, 0.000123456, 1.5, 1234.5)] == ["0.00", "0.0001235", "1.5", "1,234.50"]


def request(*messages: Message, tools: tuple[ToolSchema, ...] = ()) -> CompletionRequest:
    return CompletionRequest([*messages], Sampling(), "s", 0, tools=tools, allowed_tools=tools)


def test_a_prompt_has_at_most_as_many_tokens_as_bytes() -> None:
    plain = request(Message("user", "naïve"))
    assert most_prompt_tokens(plain) == OF_TEMPLATE + OF_MESSAGE + len("naïve".encode())
    calling = Message("assistant", "", "hm", (ToolCall("1", "move", "{}"),))
    assert most_prompt_tokens(request(calling)) == OF_TEMPLATE + 2 * OF_MESSAGE + len("hm1move{}")
    tool = ToolSchema("move", "Moves.", {"type": "object"})
    assert most_prompt_tokens(request(tools=(tool,))) > OF_TEMPLATE + OF_MESSAGE + len("moveMoves.typeobject")
    assert most_prompt_tokens(request(Message("user", "\ud800"))) == OF_TEMPLATE + OF_MESSAGE + 3


def test_what_was_counted_is_not_bounded_again() -> None:
    long, new = Message("user", "x" * 10_000), Message("user", "more")
    counted = Counted(messages=2, tokens=500)
    both = request(long, Message("assistant", "y"), new)
    assert most_prompt_tokens(both, counted) == 500 + OF_TEMPLATE + OF_MESSAGE + 4
    assert most_prompt_tokens(request(long), counted) == most_prompt_tokens(request(long)), "messages are gone since"
