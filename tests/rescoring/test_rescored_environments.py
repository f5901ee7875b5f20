"""Every environment of the repository gets the same rewards again, from the record alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from environments import NAMES, options_of
from recorded_runs import again, comparable, config_of, record, rewrite, rows_of, without_rewards
from sandboxes import bubblewrap

from ray_gym.check.casts import NASTY_POLICY, NULL, PERFECT, RANDOM
from ray_gym.errors import UserError

OF_THE_GATE = ("blackjack", "calendar", "tic_tac_toe")
FURTHER: list[tuple[str, dict[str, Any]]] = [
    ("calendar", {"mode": "live"}),
    ("customer_service", {"judge": False, "first_speaker": "policy"}),
    ("equivalence_judge", {"disagreement_reward": -1}),
    ("math", {"judge": True}),
    ("reward_model", {"kind": "comparison"}),
    ("tic_tac_toe", {"legal_moves_only": True}),
]
BY_POLICY = (PERFECT, RANDOM, NULL, NASTY_POLICY)
IN_THE_GATE = [(name, options_of(name)) for name in OF_THE_GATE]
IN_SANDBOXES = ("code_repair",)
"""Environments whose files are gone with their sandboxes."""
IN_A_PART = [*((name, options_of(name)) for name in NAMES if name not in (*OF_THE_GATE, *IN_SANDBOXES)), *FURTHER]


@pytest.mark.parametrize(
    ("name", "options"),
    [*IN_THE_GATE, *(pytest.param(*each, marks=pytest.mark.environments) for each in IN_A_PART)],
)
def test_the_same_graders_give_the_same_rewards(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    casts = BY_POLICY if "kind" in options else None  # else one bad judge fails the whole group
    sections = {"tasks": {"generate": 1}} if name == "customer_service" else {}
    run = asyncio.run(record(config_of(tmp_path, name, options, **sections), casts))
    recorded = rows_of(run)
    rewrite(run, without_rewards)
    made = again(run)
    scored = rows_of(made.location)
    assert [comparable(row) for row in scored] == [comparable(row) for row in recorded]
    assert made.counts.scored and not made.counts.asked_live
    assert any(row["reward"] is not None for row in scored)


@pytest.mark.agents
def test_episodes_in_sandboxes_are_refused_by_name(tmp_path: Path) -> None:
    bubblewrap()
    run = asyncio.run(record(config_of(tmp_path, "code_repair", tasks={"generate": 1}), (PERFECT,)))
    with pytest.raises(UserError, match="code_repair keeps files in sandboxes, which are gone"):
        again(run)


@pytest.mark.environments
def test_a_game_that_nobody_can_seed_is_refused_by_name(tmp_path: Path) -> None:
    options = {"environment": "dummy", "arguments": {"task": "the sea"}}
    run = asyncio.run(record(config_of(tmp_path, "aviary", options)))
    with pytest.raises(UserError, match=r"diverges at event .*: content of a tool_result of policy"):
        again(run)
