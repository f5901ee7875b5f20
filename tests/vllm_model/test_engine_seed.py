"""Checks that no two replicas of a model, at the same time or one after the other, have engines of one seed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import vllm.engine.arg_utils
import vllm.v1.engine.async_llm
from pydantic import ValidationError

from ray_gym.deployments.vllm import reaper
from ray_gym.deployments.vllm import replica as replica_module
from ray_gym.deployments.vllm.engine_seed import LARGEST_SEED, engine_seed
from ray_gym.deployments.vllm.options import VllmOptions


def options(**given: Any) -> VllmOptions:
    return VllmOptions(model="smollm2-135m-instruct", **given)


def test_each_replica_of_each_application_has_a_seed_of_its_own() -> None:
    seeds = [
        engine_seed(app, f"r{index}") for app in ("run-policy", "run-user", "other-policy") for index in range(100)
    ]
    assert len(set(seeds)) == 300 and all(isinstance(seed, int) and 0 <= seed <= LARGEST_SEED for seed in seeds)
    assert engine_seed("run-policy", "r7") == seeds[7], "it does not depend on the process"
    assert engine_seed("", "") is None


class Made(Exception):
    """Ends the making of an engine, with its arguments."""


@pytest.mark.parametrize(("given", "seed"), [({}, engine_seed("run-policy", "abc")), ({"engine_args": {"seed": 7}}, 7)])
def test_a_replica_s_engine_gets_its_seed(given: dict[str, Any], seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(arguments: dict[str, Any], **_: Any) -> None:
        raise Made(arguments)

    for name in ("load_tokenizer", "make_formats", "resolve_model", "served_app", "served_replica"):
        made: Any = {"make_formats": (None, SimpleNamespace(reasoning_parser=None))}.get(name, "")
        made = {"served_app": "run-policy", "served_replica": "abc"}.get(name, made)
        monkeypatch.setattr(replica_module, name, lambda *_, made=made, **__: made)
    monkeypatch.setattr(reaper, "watch", lambda: None)
    monkeypatch.setattr(vllm.engine.arg_utils, "AsyncEngineArgs", dict)
    monkeypatch.setattr(vllm.v1.engine.async_llm, "AsyncLLM", SimpleNamespace(from_engine_args=make))
    with pytest.raises(Made) as ended:
        replica_module.VllmReplica(options(engine_metrics=False, **given), False, "policy")
    assert ended.value.args[0]["seed"] == seed


@pytest.mark.parametrize("more", [{"replicas": 2}, {"autoscaling": {"max_replicas": 2, "target_ongoing_requests": 8}}])
def test_one_seed_for_several_replicas_is_refused(more: dict[str, Any]) -> None:
    assert options(engine_args={"seed": 7}).replicas == 1
    with pytest.raises(ValidationError, match=r"engine_args\.seed: all replicas would draw the same tokens"):
        options(engine_args={"seed": 7}, **more)
