"""Checks what a call to a model behind Ray Serve says whose replicas are lost until its deadline."""

from __future__ import annotations

from typing import Any

import pytest

from ray_gym.aio.deadlines import SharedTimer
from ray_gym.hosting import transport
from ray_gym.hosting.transport import ServeModel
from ray_gym.messages import Message
from ray_gym.models.base import CompletionRequest, Sampling


async def test_a_deadline_knows_why_the_last_replica_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: ServeModel) -> Any:
        raise ConnectionError("it is gone")

    async def look(self: ServeModel) -> None:
        return None

    monkeypatch.setattr(transport, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(ServeModel, "_open", fail)
    monkeypatch.setattr(ServeModel, "_look", look)
    request = CompletionRequest([Message("user", "Hello")], Sampling(), session_id="s", seed=0)
    deadline = SharedTimer(0.02).deadline()
    with pytest.raises(TimeoutError), deadline:
        await ServeModel("app", transport="handle").complete(request)
    assert deadline.last_loss == "ConnectionError: it is gone"
