"""Checks which weight versions tokens get, and the calls that a sleeping engine gets: sleep itself needs a GPU."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY, create_autospec

import pytest
from vllm.outputs import WeightVersionSpan
from vllm.v1.engine.async_llm import AsyncLLM

from ray_gym.deployments.vllm.async_llm import adapter_args
from ray_gym.deployments.vllm.weights import EngineWeights, LoadedAdapter
from ray_gym.errors import UserError
from ray_gym.models.base import VersionSpan
from ray_gym.weights.checkpoint import Checkpoint, Folder

WEIGHTS = EngineWeights(None, "/first", 3, "app")


def test_what_vllm_loaded_first_has_the_first_version() -> None:
    found = [WeightVersionSpan("default", 0, 4), WeightVersionSpan("7", 4, 6)]
    assert WEIGHTS.spans(found, 6, None) == (VersionSpan(3, 0, 4), VersionSpan(7, 4, 6))
    assert WEIGHTS.spans(None, 6, None) == (VersionSpan(3, 0, 6),)
    assert WEIGHTS.spans(None, 0, None) == ()


def test_with_an_adapter_all_tokens_are_of_its_version() -> None:
    found = [WeightVersionSpan("7", 0, 6)]
    assert WEIGHTS.spans(found, 6, LoadedAdapter(9, None)) == (VersionSpan(9, 0, 6),)


async def test_the_same_version_of_two_lines_or_after_a_failure_is_another_adapter_to_vllm(tmp_path: Path) -> None:
    """vLLM takes an adapter with a known id for the one that it has, and prefix caches are apart by name."""
    engine = create_autospec(AsyncLLM, instance=True)
    weights, first = EngineWeights(engine, str(tmp_path), 0, "app"), Checkpoint(0, None)
    for line, folder in (("policy", "/p1"), ("user", "/u1"), ("user", "/again")):
        await weights.load(Checkpoint(1, Folder(folder, adapter=True), first, line))
    requests = [call.args[0] for call in engine.add_lora.await_args_list]
    assert [request.lora_path for request in requests] == ["/p1", "/u1", "/again"]
    assert len({request.lora_int_id for request in requests}) == len({request.lora_name for request in requests}) == 3
    loaded = {line: weights.adapter_of(line) for line in ("policy", "user", "")}
    assert [one and (one.version, one.request.lora_path) for one in loaded.values()] == [
        (1, "/p1"),
        (1, "/again"),
        None,
    ]
    await weights.load(weights.served.of("user"))
    assert engine.add_lora.await_count == 3, "it has it already"
    await weights.load(Checkpoint(2, None))
    assert weights.adapter_of("policy") is None is weights.adapter_of("user") and weights.served.versions == {"": 2}
    engine.collective_rpc.assert_awaited_once_with("load_checkpoint", args=(ANY,))


def test_an_engine_keeps_twice_as_many_adapters_as_generate_at_a_time() -> None:
    assert adapter_args({"enable_lora": True, "max_loras": 3}) == {"max_cpu_loras": 6}
    assert adapter_args({"max_loras": 3}) == {} and adapter_args({"enable_lora": True}) == {"max_cpu_loras": 2}


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
