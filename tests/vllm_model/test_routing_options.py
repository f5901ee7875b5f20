"""Checks how a config's routing options reach the Serve deployment and the transport."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.engine_stats import EngineStats
from ray_gym.deployments.vllm.load_meter import LoadMeter, count_cacheable
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.deployments.vllm.replicas import deployment_spec, max_calls
from ray_gym.hosting.affinity import Affinity, routing_key
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest, Sampling


def options(**given: Any) -> VllmOptions:
    return VllmOptions(model="smollm2-135m-instruct", **given)


@pytest.mark.parametrize(
    ("given", "episodes", "expected"),
    [
        ({"replicas": 4, "engine_args": {"max_num_seqs": 64}}, 1024, 320),
        ({"replicas": 4, "engine_args": {"max_num_seqs": 64}}, 64, 64),
        ({"replicas": 3, "engine_args": {"max_num_seqs": 8}}, 64, 27),
        ({"replicas": 4}, 64, 256),
        ({"replicas": 1, "engine_args": {"max_num_seqs": 64}}, 1024, 128),
        ({"replicas": 4, "engine_args": {"max_num_seqs": 64}}, None, 128),
        (
            {
                "replicas": 2,
                "autoscaling": {"max_replicas": 4, "target_ongoing_requests": 8},
                "engine_args": {"max_num_seqs": 64},
            },
            1024,
            128,
        ),
    ],
)
def test_a_replica_takes_little_more_than_its_share(given: dict[str, Any], episodes: int | None, expected: int) -> None:
    assert max_calls(options(**given), episodes) == expected


def test_a_bound_of_the_config_wins() -> None:
    made = deployment_spec(object, options(replicas=4, max_ongoing_requests=7), (options(),), episodes=1024)
    assert made.max_ongoing_requests == 7 and made.count == 4 and made.autoscaling is None


def test_replicas_that_come_and_go() -> None:
    given = options(replicas=2, autoscaling={"max_replicas": 4, "target_ongoing_requests": 16, "upscale_delay_s": 1})
    made = deployment_spec(object, given, (given,))
    assert made.count == 2 and made.autoscaling == {
        "min_replicas": 2,
        "max_replicas": 4,
        "initial_replicas": 2,
        "target_ongoing_requests": 16,
        "upscale_delay_s": 1,
        "downscale_delay_s": 600,
    }
    assert VllmEngine(given).gpus() == 2
    with pytest.raises(ValidationError, match="max_replicas is 1, less than replicas"):
        options(replicas=2, autoscaling={"max_replicas": 1, "target_ongoing_requests": 16})
    with pytest.raises(ValidationError, match="one group, of fixed size"):
        options(
            autoscaling={"max_replicas": 2, "target_ongoing_requests": 16},
            engine_args={"weight_transfer_config": {"backend": "nccl"}},
        )


def test_calls_go_together_unless_serve_has_to_count_them() -> None:
    growing = {"max_replicas": 4, "target_ongoing_requests": 16}
    assert deployment_spec(object, options(), (options(),)).batched
    assert not deployment_spec(object, options(transport="handle"), (options(),)).batched
    assert not deployment_spec(object, options(autoscaling=growing), (options(),)).batched
    with pytest.raises(ValidationError, match="transport: autoscaling counts calls as Serve sees them"):
        options(autoscaling=growing, transport="batched")


@pytest.mark.parametrize(("affinity", "key"), [("session", "episode"), ("group", "group"), ("none", "")])
def test_what_goes_together(affinity: Affinity, key: str) -> None:
    assert routing_key(request(0, group_id="group"), affinity) == key


def test_a_call_of_no_group_goes_with_its_session() -> None:
    assert routing_key(request(0), "group") == "episode"


def test_only_models_with_limits_hold_episodes_back() -> None:
    assert not VllmEngine(options()).connect().is_gated
    assert VllmEngine(options(admission={})).connect().is_gated
    assert VllmEngine(VllmOptions(app="there", admission={"max_waiting": 8})).connect().is_gated
    with pytest.raises(ValidationError, match="max_kv_use"):
        options(admission={"max_kv_use": 1.5})


def request(history: int, group_id: str = "") -> CompletionRequest:
    ids = np.arange(history, dtype=np.int32)
    return CompletionRequest([], Sampling(), "episode", 0, history=ids, group_id=group_id)


def answer(cached: int, fork_reason: str | None = None) -> Completion:
    ids = np.zeros(1, dtype=np.int32)
    return Completion(Message("assistant"), token_ids=ids, cached_tokens=cached, fork_reason=fork_reason)


def test_what_a_cache_of_blocks_can_have() -> None:
    assert [count_cacheable(history, 32) for history in (0, 1, 32, 33, 64, 65)] == [0, 0, 0, 32, 32, 64]


def test_the_load_is_what_was_lost_of_histories() -> None:
    meter = LoadMeter(EngineStats(), block_size=32)
    meter.count(request(0), answer(0))
    meter.count(request(100), answer(0, fork_reason="edited_history"))
    meter.count(request(100), Completion(Message("assistant"), finish_reason="context_full"))
    assert meter.load().recomputed == 0
    meter.count(request(100), answer(0))
    assert meter.load().recomputed == 1
    for _ in range(100):
        meter.count(request(100), answer(96))
    assert meter.load().recomputed < 0.01
