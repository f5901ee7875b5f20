"""Checks what is read from the headers of requests, at all doors."""

from __future__ import annotations

import pytest

from ray_gym.openai_api.headers import RETRIES, is_retry


@pytest.mark.parametrize("count", ["1", "02", "10"])
def test_a_retry_has_a_whole_number_above_0(count: str) -> None:
    assert is_retry({RETRIES: count})


@pytest.mark.parametrize("count", ["", "0", "00", "-1", "1.5", "x", "\u00b2", "\u0661"])
def test_anything_else_is_no_retry(count: str) -> None:
    assert not is_retry({RETRIES: count}) and not is_retry({})
