"""Every environment of the repository passes every check, also with the options that change what it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from environments import NAMES, options_of
from sandboxes import bubblewrap

from ray_gym.check.all_checks import carry_out
from ray_gym.check.other_process import OtherProcess
from ray_gym.check.subject import subject_of
from ray_gym.plugins import find_environment

TASKS = 3
FEWER_TASKS = {"math": 1, "reasoning_gym": 1, "code_repair": 1}
"""Number of tasks for environments whose graders take their time."""
COSTLY = ("aviary", "code_repair", "math", "reasoning_gym")
"""Environments that the gate leaves to a part, as it leaves all further options."""
FURTHER: list[tuple[str, dict[str, Any]]] = [
    ("calendar", {"mode": "live"}),
    ("calendar", {"mode": "live", "first_speaker": "policy", "stop_text": "[DONE]"}),
    ("customer_service", {"judge": False, "first_speaker": "policy"}),
    ("reward_model", {"kind": "comparison"}),
    ("tic_tac_toe", {"legal_moves_only": True}),
]


@pytest.fixture(scope="module")
def other_process() -> Iterator[OtherProcess]:
    with OtherProcess() as process:
        yield process


IN_THE_GATE = [(name, options_of(name)) for name in NAMES if name not in COSTLY]
IN_A_PART = [*((name, options_of(name)) for name in COSTLY), *FURTHER]


@pytest.mark.environments
@pytest.mark.parametrize(
    ("name", "options"),
    [*IN_THE_GATE, *(pytest.param(*subject, marks=pytest.mark.environments) for subject in IN_A_PART)],
)
async def test_an_environment_passes(name: str, options: dict[str, Any], other_process: OtherProcess) -> None:
    environment_class = find_environment(name)
    if environment_class.uses_sandbox:
        bubblewrap()
    given, count = environment_class.Options.model_validate(options), FEWER_TASKS.get(name, TASKS)
    subject = subject_of(name, environment_class, given, count, seed=1)
    report = await carry_out(subject, other_process)
    assert {outcome.check.name: outcome.findings for outcome in report.outcomes if outcome.failed} == {}
