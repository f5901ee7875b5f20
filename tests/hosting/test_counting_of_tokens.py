"""Checks that a model behind Ray Serve counts the tokens of prompts, or says why it can't, with a handle in this process."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from ray.exceptions import RayActorError, RayTaskError

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.hosting import transport
from ray_gym.hosting.transport import ServeModel
from ray_gym.messages import Message
from ray_gym.models.base import CompletionRequest, Sampling
from ray_gym.models.engine import Counting

REQUEST = CompletionRequest([Message("user", "Hello")], Sampling(), "s", 1)


def model_that(count: Any, monkeypatch: pytest.MonkeyPatch) -> ServeModel:
    async def opened(self: ServeModel) -> Any:
        return SimpleNamespace(count_tokens=SimpleNamespace(remote=count))

    monkeypatch.setattr(ServeModel, "_open", opened)
    return ServeModel("app", transport="handle", counts_tokens=True)


async def test_a_replica_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    async def count(request: CompletionRequest) -> int:
        return len(request.messages[0].content)

    model = model_that(count, monkeypatch)
    assert isinstance(model, Counting) and model.counts_tokens
    assert await model.count_tokens(REQUEST) == 5
    assert not ServeModel("app", transport="handle").counts_tokens


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (
            RayTaskError("count", "trace", EpisodeFailure(FailureKind.DATA, "chat template", "no")),
            FailureKind.DATA,
            "no",
        ),
        (RayTaskError("count", "trace", KeyError("x")), FailureKind.INFRA, "KeyError"),
        (RayActorError(), FailureKind.INFRA, "actor"),
    ],
)
async def test_failures_have_their_kinds(
    error: Exception, kind: FailureKind, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def count(request: CompletionRequest) -> int:
        raise error

    with pytest.raises(EpisodeFailure, match=told) as failed:
        await model_that(count, monkeypatch).count_tokens(REQUEST)
    assert failed.value.failure.kind is kind


async def test_a_silent_replica_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def count(request: CompletionRequest) -> int:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    monkeypatch.setattr(transport, "COUNT_S", 0.01)
    with pytest.raises(EpisodeFailure) as failed:
        await model_that(count, monkeypatch).count_tokens(REQUEST)
    assert failed.value.failure.kind is FailureKind.INFRA
