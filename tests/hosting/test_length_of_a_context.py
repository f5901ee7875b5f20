"""Checks that a model behind Ray Serve tells the length of its context, which a replica is asked for once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from ray.exceptions import RayActorError, RayTaskError

from ray_gym.hosting import transport
from ray_gym.hosting.transport import ServeModel
from ray_gym.models.engine import Sized


def model_that(describe: Any, monkeypatch: pytest.MonkeyPatch) -> ServeModel:
    async def opened(self: ServeModel) -> Any:
        return SimpleNamespace(describe=SimpleNamespace(remote=describe))

    monkeypatch.setattr(ServeModel, "_open", opened)
    return ServeModel("app", transport="handle")


async def test_a_replica_tells_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def describe() -> dict[str, Any]:
        asked.append(1)
        return {"max_model_len": 4_096}

    model = model_that(describe, monkeypatch)
    assert isinstance(model, Sized)
    assert [await model.context_tokens() for _ in range(2)] == [4_096, 4_096] and len(asked) == 1


@pytest.mark.parametrize("error", [RayTaskError("describe", "trace", KeyError("x")), RayActorError()])
async def test_it_is_not_known_where_no_replica_tells_it(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    async def describe() -> dict[str, Any]:
        raise error

    assert await model_that(describe, monkeypatch).context_tokens() is None


async def test_a_reward_model_tells_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def describe() -> dict[str, Any]:
        asked.append(1)
        return {"model": "small"}

    model = model_that(describe, monkeypatch)
    assert [await model.context_tokens() for _ in range(2)] == [None, None] and len(asked) == 1


async def test_a_silent_replica_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def describe() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    monkeypatch.setattr(transport, "COUNT_S", 0.01)
    assert await model_that(describe, monkeypatch).context_tokens() is None
