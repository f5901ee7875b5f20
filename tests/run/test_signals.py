"""Checks which signals stop a run, and that they unwind what was started."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from ray_gym.run.signals import stop_signals, unwind_on_signals


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_of_them_unwinds(by: signal.Signals) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    before = {number: signal.getsignal(number) for number in stop_signals()}
    with pytest.raises(KeyboardInterrupt), unwind_on_signals():
        os.kill(os.getpid(), by)
    assert {number: signal.getsignal(number) for number in before} == before


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert signal.SIGHUP not in stop_signals()
    with unwind_on_signals():
        os.kill(os.getpid(), signal.SIGHUP)
