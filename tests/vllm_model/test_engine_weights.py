"""Which versions tokens are said to be of."""

from __future__ import annotations

from types import SimpleNamespace

from vllm.outputs import WeightVersionSpan

from deployments.vllm.weights import EngineWeights
from ray_gym.models.base import VersionSpan

WEIGHTS = EngineWeights(None, "/first", 3, "app")


def test_what_vllm_loaded_first_has_the_first_version() -> None:
    found = [WeightVersionSpan("default", 0, 4), WeightVersionSpan("7", 4, 6)]
    assert WEIGHTS.spans(found, 6, None) == (VersionSpan(3, 0, 4), VersionSpan(7, 4, 6))
    assert WEIGHTS.spans(None, 6, None) == (VersionSpan(3, 0, 6),)
    assert WEIGHTS.spans(None, 0, None) == ()


def test_with_an_adapter_all_tokens_are_of_its_version() -> None:
    found = [WeightVersionSpan("7", 0, 6)]
    assert WEIGHTS.spans(found, 6, SimpleNamespace(lora_int_id=9)) == (VersionSpan(9, 0, 6),)
