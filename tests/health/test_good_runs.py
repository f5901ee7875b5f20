"""Nothing is suspicious in good runs of the environments that come with ray_gym."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from environments import NAMES, options_of
from recorded_runs import config_of, record

from ray_gym import Message
from ray_gym.check.casts import PERFECT
from ray_gym.health.examine import Health, examine
from ray_gym.run.directory.location import storage_at

TASKS = 12
BY_RIGHT = {
    "aviary": "its game's tool answers wrong guesses with errors",
    "code_repair": "its players write whole modules, and the logprobs of so many tokens that are made up here are low",
    "customer_service": "a policy that is not sure talks until max_turns",
    "tic_tac_toe": "a policy that makes no moves plays until max_turns; tests/vllm_model has a run of the small model",
}
"""Environments in whose runs such players leave findings by right, with the reason."""
IN_THE_GATE = ("blackjack", "calendar")
GOOD = [
    name if name in IN_THE_GATE else pytest.param(name, marks=pytest.mark.environments)
    for name in NAMES
    if name not in BY_RIGHT
]


def unsure(*_: Any, **__: Any) -> Message:
    return Message("assistant", "I am not sure about this one.")


@pytest.mark.parametrize("name", GOOD)
def test_a_good_run_has_no_findings(name: str, tmp_path: Path) -> None:
    """Half of the episodes are played perfectly, and in the others the policy doesn't know an answer."""
    config = config_of(tmp_path, name, options_of(name), tasks={"generate": TASKS})
    run = asyncio.run(record(config, (PERFECT, {"policy": unsure})))
    assert examine(storage_at(str(run))) == Health(2 * TASKS, [], [])
