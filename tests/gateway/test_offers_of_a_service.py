"""Checks what a config offers to callers."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_serve_command import OFFER, config

from ray_gym.config.file import read_config
from ray_gym.errors import UserError
from ray_gym.service.offers import hire_all, make_engines, offers_of

__all__ = ["config"]


def test_an_offer_is_played_by_its_own_participants_and_every_model_comes_up(config: Path) -> None:
    read = read_config(config, [f"service.offers.cards={OFFER}", "service.sources.few={generate: 1}"])
    offers = offers_of(read)
    assert list(offers) == ["tic_tac_toe", "cards"]
    assert {name: participant.model for name, participant in offers["cards"].participants.items()} == {
        "policy": "spare"
    }
    assert offers["cards"].environment.id == "blackjack" and offers["cards"].sources == {}
    assert list(offers["tic_tac_toe"].sources) == ["default", "few"]
    assert list(make_engines(read, offers, config)) == ["small", "spare"]


def test_a_wrong_agent_or_sandbox_of_an_offer_is_told_at_the_start(config: Path) -> None:
    agent = "service.offers.cards.participants.policy.agent={id: %s}"
    for given, told in [
        ([agent % "kodex"], "service.offers.cards: participants.policy.agent.id: there is no agent 'kodex'"),
        ([agent % "codex", "sandbox.kind=bubble"], "sandbox.kind: there is no sandbox 'bubble'"),
    ]:
        read = read_config(config, [f"service.offers.cards={OFFER}", *given])
        with pytest.raises(UserError) as refused:
            hire_all(read, offers_of(read), config)
        assert told in str(refused.value)
    assert hire_all(read_config(config), offers_of(read_config(config)), config) == []
