"""Checks that code that waits for ever is ended and named, and ends the check."""

from __future__ import annotations

import asyncio

import pytest
from faulty_orders import (
    Sound,
    SticksElsewhere,
    WaitsElsewhere,
    WaitsForTheOther,
    WaitsInATool,
    WaitsInClose,
    WaitsInRun,
    WaitsInScore,
    WaitsInSetup,
)

from ray_gym.check import determinism, waiting
from ray_gym.check.all_checks import CHECKS, CheckReport, carry_out
from ray_gym.check.other_process import OtherProcess
from ray_gym.check.subject import subject_of
from ray_gym.environment import Options


async def check(environment_class: type[Sound]) -> CheckReport:
    subject = subject_of(environment_class.__name__, environment_class, Options(), 2, seed=0)
    with OtherProcess() as other_process:
        report = await carry_out(subject, other_process)
    assert [outcome.check for outcome in report.outcomes] == list(CHECKS)
    assert len(asyncio.all_tasks()) == 1
    return report


@pytest.mark.environments
@pytest.mark.parametrize(
    ("faulty", "where"),
    [
        (WaitsInSetup, "WaitsInSetup.setup (faulty_orders.py:"),
        (WaitsInRun, "WaitsInRun.run (faulty_orders.py:"),
        (WaitsInATool, "tool sell (faulty_orders.py:"),
        (WaitsInScore, "WaitsInScore.score (faulty_orders.py:"),
        (WaitsInClose, "_wait_for_ever (faulty_orders.py:"),
        (WaitsForTheOther, "WaitsForTheOther.run (faulty_orders.py:"),
    ],
)
async def test_what_waits_for_ever_is_named(faulty: type[Sound], where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WAITS_S", 0.5)
    report = await check(faulty)
    [failed] = [outcome for outcome in report.outcomes if outcome.failed]
    [finding] = failed.findings
    assert failed.check.name == "hooks"
    assert finding.where.startswith(where) and "it waits for ever: it was ended after 0.5 s" in finding.what
    assert any(outcome.waits_for == "hooks" for outcome in report.outcomes)


@pytest.mark.environments
@pytest.mark.parametrize("faulty", [WaitsElsewhere, SticksElsewhere])
async def test_the_other_process_has_a_deadline(faulty: type[Sound], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(determinism, "LEAST_S", 5.0)
    found = {outcome.check.name: outcome.findings for outcome in (await check(faulty)).outcomes if outcome.failed}
    assert list(found) == ["determinism"]
    assert "played again in another process it had not ended after" in found["determinism"][0].what
