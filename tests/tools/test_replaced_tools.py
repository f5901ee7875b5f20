"""Checks that something which stands in a tool's place without being one is refused at the class."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partialmethod
from typing import Any

import pytest

from ray_gym.tools.tool import tool, tools_of


class Shop:
    @tool()
    def buy(self, state: Any, caller: Any, count: int) -> str:
        return f"{count} bought"


def of_another(self: Any, state: Any, caller: Any, weight: int) -> None: ...
def of_one_more(self: Any, state: Any, caller: Any, count: int, weight: int = 1) -> None: ...
def of_none(self: Any, state: Any, caller: Any) -> None: ...
def of_the_same(self: Any, state: Any, caller: Any, count: Any) -> None: ...
def of_all(self: Any, state: Any, caller: Any, **arguments: Any) -> None: ...


@pytest.mark.parametrize(
    ("given", "why"),
    [
        *[(one, "can't be called as that is") for one in (None, 3, of_another, of_none, property(of_the_same))],
        (of_one_more, "takes weight beside, which no model is shown"),
    ],
)
def test_a_tool_is_replaced_by_what_can_be_called_as_it_is(given: Any, why: str) -> None:
    with pytest.raises(TypeError) as told:
        tools_of(type("Market", (Shop,), {"buy": given}))
    assert str(told.value) == (
        f"Market.buy replaces the tool (test_replaced_tools.py:{Shop.buy.__code__.co_firstlineno}), and {why}: write @tool() "
        "above it, take (self, state: 'Any', caller: 'Any', count: 'int') -> 'str', or rename it"
    )


@pytest.mark.parametrize("given", [of_the_same, of_all])
def test_a_method_of_the_same_parameters_replaces_a_tool(given: Any) -> None:
    (bought,) = tools_of(type("Market", (Shop,), {"buy": given})).values()
    assert bought.schema == tools_of(Shop)["buy"].schema


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function around another, as a decorator does that has forgotten `functools.wraps`."""

    def inner(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    return inner


@pytest.mark.parametrize("decorator", [staticmethod, classmethod, property, cached_property, partialmethod, plain])
def test_a_decorator_that_hides_a_tool_is_refused(decorator: Any) -> None:
    def buy(self: Any, state: Any, caller: Any) -> None: ...

    with pytest.raises(TypeError) as told:
        tools_of(type("Market", (), {"buy": decorator(tool()(buy))}))
    assert str(told.value) == "Market.buy: a decorator hides @tool() below it: write @tool() above the others"


def test_a_tool_may_be_used_under_another_name() -> None:
    one = partialmethod(Shop.buy, count=1)
    assert list(tools_of(type("Market", (Shop,), {"buy_one": one}))) == ["buy"]


@pytest.mark.parametrize("decorator", [classmethod, property, partialmethod])
def test_a_tool_is_made_of_a_function(decorator: Any) -> None:
    with pytest.raises(TypeError, match=r"is no method that can be called with \(self, state, caller, \.\.\.\)"):
        tool()(decorator(of_none))
