"""Checks what `ray-gym serve` refuses before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
import ray

from ray_gym.errors import UserError
from ray_gym.plugins import find_gateway
from ray_gym.service.serving import serve

CONFIG = """
environment: {id: tic_tac_toe}
tasks: {generate: 2}
models:
  small: {engine: scripted, player: "ray_gym.envs.tic_tac_toe.players:random_player"}
  spare: {engine: scripted, player: "ray_gym.envs.tic_tac_toe.players:random_player"}
participants:
  policy: {model: small}
  user: {model: small}
"""
OFFER = "{environment: {id: blackjack}, participants: {policy: {model: spare}}}"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "service.yaml"
    path.write_text(CONFIG)
    return path


def error_of(config: Path, *overrides: str) -> str:
    said: list[str] = []
    with pytest.raises(UserError) as caught:
        serve(config, [f"output.dir={config.parent}/runs", *overrides], said.append)
    assert not said and not ray.is_initialized()
    assert [path.name for path in config.parent.iterdir() if path.is_dir()] == []
    return str(caught.value)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("limits.max_cost=5", "limits.max_cost: only a run"),
        ("service.host=0.0.0.0", "service.tokens: service.host is 0.0.0.0, which others can reach"),
        ("service.host=gym.example", "which others can reach"),
        ("service.tokens.file=none", "service.tokens.file: there is no file "),
        ("service.tokens.env=NO_SUCH_VARIABLE", "the environment variable NO_SUCH_VARIABLE is not set"),
        ("service.tokens={}", "service.tokens: set file"),
        ("output.dir=s3://bucket/runs", "output.dir: s3://bucket/runs is an object store"),
        ("models.spare.player=ray_gym.envs.tic_tac_toe.players:nobody", "has no 'nobody'"),
        (
            "service.offers.tic_tac_toe=" + OFFER,
            "service.offers.tic_tac_toe: the config's own environment has this name",
        ),
        ("service.offers.cards={environment: {id: blackjak}, participants: {policy: {model: spare}}}", "did you mean"),
        (
            "service.offers.cards={environment: {id: blackjack}, participants: {policy: {model: x}}}",
            "service.offers.cards: ",
        ),
        ("service.sources.more.path=none.jsonl", "source more: "),
        ("service.portt=1", "did you mean 'port'?"),
    ],
)
def test_what_is_wrong_is_told_before_anything_starts(config: Path, override: str, told: str) -> None:
    assert told in error_of(config, override)


def test_the_gateway_is_found_by_name() -> None:
    assert find_gateway().__name__ == "HttpGateway"
    with pytest.raises(UserError, match="there is no gateway 'gatewy'; did you mean 'gateway'"):
        find_gateway("gatewy")
