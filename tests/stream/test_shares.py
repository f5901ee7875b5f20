"""The shares of a mixture's sources hold at any moment, whatever is dropped, and go on exactly from a cursor."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ray_gym.errors import UserError
from ray_gym.stream.mixture_cursor import MixtureCursor
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.shares import Shares, options_of

GROUPS = 2000
SHARES = st.dictionaries(st.sampled_from("abcde"), st.floats(0.01, 100), min_size=1)


def play(shares: Shares, groups: int) -> list[str]:
    """Returns the sources of the next groups."""
    order = []
    for _ in range(groups):
        order.append(shares.choose())
        shares.count(order[-1])
    return order


@settings(max_examples=20, deadline=None)
@given(SHARES)
def test_no_source_is_ever_ahead_by_a_group_or_far_behind(given_shares: dict[str, float]) -> None:
    shares = Shares.of(given_shares)
    counts: Counter[str] = Counter()
    for total, name in enumerate(play(shares, GROUPS), 1):
        counts[name] += 1
        behind = {one: share * total - counts[one] for one, share in shares.wanted.items()}
        assert min(behind.values()) > -1 and max(behind.values()) < max(1, len(behind) - 1) + 1e-6
    assert all(abs(counts[one] / GROUPS - share) < 0.02 for one, share in shares.wanted.items())


@pytest.mark.parametrize("stale", [0.0, 0.5, 0.95])
def test_shares_hold_over_2000_groups_though_most_of_a_source_are_stale(stale: float) -> None:
    """Drops groups of source a with a chance of `stale`, and none of the others."""
    shares, rng = Shares.of({"a": 0.7, "b": 0.2, "c": 0.1}), random.Random(0)
    begun: Counter[str] = Counter()
    delivered: Counter[str] = Counter()
    while delivered.total() < GROUPS:
        name = shares.choose()
        begun[name] += 1
        if name == "a" and rng.random() < stale:
            continue
        shares.count(name)
        delivered[name] += 1
    assert delivered == {"a": 1400, "b": 400, "c": 200}
    assert begun["a"] >= delivered["a"] and begun["b"] == 400


@settings(max_examples=20, deadline=None)
@given(SHARES, st.integers(0, GROUPS))
def test_a_cursor_resumes_the_same_order(given_shares: dict[str, float], stop: int) -> None:
    whole = play(Shares.of(given_shares), GROUPS)
    shares = Shares.of(given_shares)
    first = play(shares, stop)
    saved = {"sources": {}, "shares": shares.wanted, "acknowledged": shares.counts}
    again = Shares.of(given_shares)
    MixtureCursor.parse(json.loads(json.dumps(saved))).resume(again)
    assert first + play(again, GROUPS - stop) == whole


def test_shares_that_were_changed_hold_from_then_on() -> None:
    cursor = MixtureCursor.parse({"sources": {}, "shares": {"a": 0.5, "b": 0.5}, "acknowledged": {"a": 90, "b": 90}})
    for changed in ({"a": 9, "b": 1}, {"a": 0.5, "b": 0.5, "c": 1}, {"a": 1}):
        shares = Shares.of(changed)
        cursor.resume(shares)
        assert set(shares.counts.values()) == {0}
    same = Shares.of({"a": 3, "b": 3})
    cursor.resume(same)
    assert same.counts == {"a": 90, "b": 90}


@settings(max_examples=50, deadline=None)
@given(SHARES, st.integers(1, 40), st.integers(0, 200))
def test_a_source_may_have_as_many_groups_as_any_batch_takes(
    given_shares: dict[str, float], batch: int, start: int
) -> None:
    shares = Shares.of(given_shares)
    taken = Counter(play(shares, start + batch)[start:])
    bounds = StreamOptions(max_staleness=0, groups_per_version=batch, max_open_groups=batch)
    for name, share in shares.wanted.items():
        mine = options_of(bounds, share, len(given_shares))
        assert mine.groups_per_version is not None and taken[name] <= mine.groups_per_version <= batch
        assert mine.max_open_groups == mine.groups_per_version


def test_options_without_bounds_have_none_in_a_mixture() -> None:
    assert options_of(StreamOptions(), 0.3, 2) == StreamOptions()


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        ({}, "a mixture needs at least one source"),
        ({"a": 0.0, "b": 1.0}, "shares: 0 for a, but each is a number above 0"),
        ({"a": -1.0}, "shares: -1 for a"),
        ({"a": float("nan")}, "shares: nan for a"),
    ],
)
def test_what_are_no_shares(shares: dict[str, float], told: str) -> None:
    with pytest.raises(UserError, match=told):
        Shares.of(shares)


@pytest.mark.parametrize(
    ("saved", "field"),
    [
        ({"stream": "s"}, r"cursor\.sources"),
        ({"sources": {"a": {"stream": 1}}, "shares": {}, "acknowledged": {}}, r"cursor\.sources\.a\.stream"),
        ({"sources": {}, "shares": {"a": "x"}, "acknowledged": {}}, r"cursor\.shares\.a"),
        (17, "cursor"),
    ],
)
def test_what_is_no_cursor_of_a_mixture(saved: Any, field: str) -> None:
    with pytest.raises(UserError, match=f"{field}: .*give back what `mixture.cursor` gave"):
        MixtureCursor.parse(saved)
