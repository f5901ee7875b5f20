"""Checks that sampling parameters which vLLM refuses are told at once, and not tried again as a fault of the engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ray_gym.deployments.chat.token_engine import GenerationRequest
from ray_gym.deployments.vllm.async_llm import AsyncLLMEngine
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.models.model import Sampling


class Open:
    """Stands for the weights of an engine that is not paused."""

    aborts = loads = 0

    async def wait_until_open(self) -> None:
        return None

    def adapter_of(self, line: str) -> None:
        return None


async def refused(engine: Any, sampling: Sampling) -> EpisodeFailure:
    made = object.__new__(AsyncLLMEngine)
    made.weights, made._engine = Open(), engine  # type: ignore[assignment]
    with pytest.raises(EpisodeFailure) as told:
        await made.generate(GenerationRequest([1, 2], sampling, 8, "session"))
    return told.value


async def test_parameters_that_vllm_refuses_are_wrong_data() -> None:
    failure = (await refused(None, Sampling(temperature=3.0))).failure
    assert (failure.kind, failure.where) == (FailureKind.DATA, "sampling") and "temperature must be" in failure.message


async def test_what_its_engine_refuses_of_a_request_is_wrong_data_and_all_else_is_its_fault() -> None:
    from vllm.exceptions import VLLMValidationError

    def engine(error: Exception) -> Any:
        async def generate(*_: Any, **__: Any) -> Any:
            raise error
            yield

        return SimpleNamespace(generate=generate)

    failure = (await refused(engine(VLLMValidationError("no such token")), Sampling())).failure
    assert (failure.kind, failure.where, failure.message) == (FailureKind.DATA, "sampling", "no such token")
    failure = (await refused(engine(RuntimeError("broken")), Sampling())).failure
    assert (failure.kind, failure.where) == (FailureKind.INFRA, "vllm")
