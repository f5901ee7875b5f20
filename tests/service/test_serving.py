"""Checks what `ray-gym serve` says on its terminal while it waits for a signal."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ray_gym.service import serving


def test_workers_that_take_long_to_start_are_told_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([[], ["rollout a: no worker"], ["rollout a: no worker", "sessions of b: no worker"], []])

    def get(asked: object, timeout: float) -> list[str]:
        for answer in answers:
            return answer
        raise KeyboardInterrupt

    monkeypatch.setattr(serving, "time", SimpleNamespace(sleep=lambda seconds: None))
    monkeypatch.setattr(serving.ray, "get", get)
    said: list[str] = []
    actor = SimpleNamespace(troubles=SimpleNamespace(remote=lambda: None))
    serving._wait(actor, "http://x", said.append)
    assert said == ["ready: http://x", "rollout a: no worker", "sessions of b: no worker"]
