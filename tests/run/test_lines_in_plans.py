"""Checks plans with lines of adapters: the model below is made and started first, and is asked what they are asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ray_gym.config.file import read_config
from ray_gym.deployments.vllm import VllmEngine, installed
from ray_gym.deployments.vllm import engine as vllm_engine
from ray_gym.deployments.vllm_adapter import VllmAdapterEngine
from ray_gym.errors import UserError
from ray_gym.models.engine import line_of
from ray_gym.run.plan import Plan, check_plan
from ray_gym.service.offers import make_engines, offers_of

TAKES = {"enable_lora": True, "max_loras": 3}


@pytest.fixture(autouse=True)
def nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the checks of what is installed, and of the checkpoint, which there is none of."""
    assert callable(installed.check_installed)
    for name in ("check_model", "check_formats", "check_installed"):
        monkeypatch.setattr(vllm_engine, name, lambda *_: None)


def config_of(folder: Path, models: dict[str, Any]) -> Any:
    players = {"policy": {"model": "policy"}, "user": {"model": "user", "trainable": True}}
    made = {"environment": {"id": "tic_tac_toe"}, "tasks": {"generate": 1}, "models": models, "participants": players}
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(made))
    return read_config(path, [])


def models_with(arguments: dict[str, Any], **user: Any) -> dict[str, Any]:
    base = {"engine": "vllm", "model": "/base", "engine_args": arguments}
    lines = {name: {"engine": "vllm_adapter", "of": "base"} for name in ("policy", "user")}
    return {"user": {**lines["user"], **user}, "policy": lines["policy"], "base": base}


def test_the_model_below_comes_first_though_nobody_plays_it(tmp_path: Path) -> None:
    plan = check_plan(Plan.of(config_of(tmp_path, models_with(TAKES)), "c"), "c")
    assert [type(engine) for engine in plan.engines.values()] == [VllmEngine, VllmAdapterEngine, VllmAdapterEngine]
    assert {name: line_of(engine) for name, engine in plan.engines.items()} == {
        "base": "",
        "policy": "policy",
        "user": "user",
    }
    assert plan.trained == ["policy", "user"] and plan.gives_tokens["user"]
    below = plan.engines["base"]
    assert isinstance(below, VllmEngine) and below._uses_tools, "its lines have tools"
    assert below._request is not None and below._request.samplings.keys() == {"policy", "user"}


def test_a_line_may_be_on_a_model_that_somebody_plays(tmp_path: Path) -> None:
    models = {"user": {"engine": "vllm_adapter", "of": "policy"}, "policy": models_with(TAKES)["base"]}
    assert list(check_plan(Plan.of(config_of(tmp_path, models), "c"), "c").engines) == ["policy", "user"]


def test_a_service_makes_them_in_the_same_order(tmp_path: Path) -> None:
    config = config_of(tmp_path, models_with(TAKES))
    engines = make_engines(config, offers_of(config), tmp_path / "config.yaml")
    assert list(engines) == ["base", "policy", "user"] and line_of(engines["user"]) == "user"


@pytest.mark.parametrize(
    ("arguments", "user", "told"),
    [
        ({}, {}, r"models\.base\.engine_args\.enable_lora: set it to true, as models\.policy is a line of adapters"),
        ({"max_loras": 3}, {}, r"models\.base\.engine_args\.enable_lora"),
        ({"enable_lora": True}, {}, r"models\.base\.engine_args\.max_loras: 1, but 2 lines .* set it to 3"),
        ({**TAKES, "max_loras": 2}, {}, r"models\.base\.engine_args\.max_loras: 2, but 2 lines"),
        (TAKES, {"of": "lower"}, r"models\.user\.of: there is no model 'lower' under models"),
        (TAKES, {"of": "policy"}, r"models\.user\.of: 'policy' is no model with engine: vllm"),
        (TAKES, {"weights_version": 3}, r"models\.user\.weights_version: it is the version of `adapter`"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field(
    arguments: dict[str, Any], user: dict[str, Any], told: str, tmp_path: Path
) -> None:
    config = config_of(tmp_path, models_with(arguments, **user))
    with pytest.raises(UserError, match=told):
        check_plan(Plan.of(config, "c"), "c")


def test_an_adapter_from_the_start_is_newer_than_what_is_below(tmp_path: Path) -> None:
    models = models_with(TAKES, adapter="/a", weights_version=4)
    models["base"]["weights_version"] = 4
    with pytest.raises(UserError, match=r"models\.user\.weights_version: 4, but models\.base has the version 4"):
        check_plan(Plan.of(config_of(tmp_path, models), "c"), "c")
