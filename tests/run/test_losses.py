"""Checks what is said of workers that are lost: each reason at once, and no line for each of many."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ray_gym.hosting.room import SAY_S
from ray_gym.run.driver import losses, seldom
from ray_gym.run.driver.driver import _reason_of


def test_losses_for_one_reason_are_told_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(seldom, "time", clock)
    told = losses.Losses()
    for number in range(5):
        told.tell(f"1-{number}", f"it did not answer for {number} s", 8)
    told.tell("1-5", "killed", 2)
    clock.now = SAY_S
    for number in range(6, 8):
        told.tell(f"1-{number}", "it did not answer for 9 s", 7)
    told.tell("1-8", "OSError: too many open files", None)
    assert caplog.messages == [
        "worker 1-0 is lost: it did not answer for 0 s; 8 episodes go on elsewhere",
        "worker 1-5 is lost: killed; 2 episodes go on elsewhere",
        "worker 1-6 is lost: it did not answer for 9 s; 7 episodes go on elsewhere; "
        "4 others were lost likewise since it was last said",
        "worker 1-8 is lost: OSError: too many open files; the run ends by it",
    ]


def test_a_signal_that_ended_a_worker_is_named() -> None:
    died = "The actor died.\nWorker exit detail: Exit code: 1. The process receives a SIGTERM."
    assert _reason_of(RuntimeError(died)) == "The actor died: its process got SIGTERM"
    assert _reason_of(RuntimeError("The actor died.\nWorker exit type: SYSTEM_ERROR")) == "The actor died."
