"""Checks which weight versions tokens get, and the calls that a sleeping engine gets: sleep itself needs a GPU."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import create_autospec

import pytest
from vllm.outputs import WeightVersionSpan
from vllm.v1.engine.async_llm import AsyncLLM

from ray_gym.deployments.vllm.weights import EngineWeights, LoadedAdapter
from ray_gym.errors import UserError
from ray_gym.models.base import VersionSpan

WEIGHTS = EngineWeights(None, "/first", 3, "app")


def test_what_vllm_loaded_first_has_the_first_version() -> None:
    found = [WeightVersionSpan("default", 0, 4), WeightVersionSpan("7", 4, 6)]
    assert WEIGHTS.spans(found, 6, None) == (VersionSpan(3, 0, 4), VersionSpan(7, 4, 6))
    assert WEIGHTS.spans(None, 6, None) == (VersionSpan(3, 0, 6),)
    assert WEIGHTS.spans(None, 0, None) == ()


def test_with_an_adapter_all_tokens_are_of_its_version() -> None:
    found = [WeightVersionSpan("7", 0, 6)]
    assert WEIGHTS.spans(found, 6, LoadedAdapter(9, None)) == (VersionSpan(9, 0, 6),)


def sleeper(enable_sleep_mode: bool) -> tuple[Any, EngineWeights]:
    """The double has the engine's methods and their arguments."""
    engine = create_autospec(AsyncLLM, instance=True)
    engine.vllm_config = SimpleNamespace(model_config=SimpleNamespace(enable_sleep_mode=enable_sleep_mode))
    return engine, EngineWeights(engine, "/first", 3, "app")


async def test_requests_wait_until_all_of_an_engine_is_awake() -> None:
    engine, weights = sleeper(enable_sleep_mode=True)
    await weights.sleep(2)
    engine.sleep.assert_awaited_once_with(2, mode="abort")
    assert weights.aborts == 1, "what was under way is made again"
    waiting = asyncio.create_task(weights.wait_until_open())
    engine.wake_up.return_value = False
    await weights.wake_up(("weights",))
    await weights.resume()  # the end of an update in between
    await asyncio.sleep(0)
    assert not waiting.done() and not engine.resume_generation.await_count
    engine.wake_up.return_value = True
    await weights.wake_up(("kv_cache",))
    await asyncio.wait_for(waiting, 5)
    assert [call.args[0] for call in engine.wake_up.await_args_list] == [["weights"], ["kv_cache"]]


async def test_an_engine_without_sleep_mode_stays_awake() -> None:
    engine, weights = sleeper(enable_sleep_mode=False)
    with pytest.raises(UserError, match=r"engine_args\.enable_sleep_mode"):
        await weights.sleep(1)
    await asyncio.wait_for(weights.wait_until_open(), 5)
    engine.sleep.assert_not_awaited()
