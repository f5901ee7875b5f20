"""Checks that figures are those that `ray-gym stats` estimates, by names that no tracker takes for a path."""

from __future__ import annotations

import math

import pytest
from versioned_rows import collected, row

from ray_gym.statistics.describe import describe
from ray_gym.tracking.figures import figures_of


def is_success(reward: float) -> bool:
    return reward >= 1


def test_figures_are_those_of_the_statistics() -> None:
    given = collected([row(f"t{n // 4}", float(n % 2), 3) for n in range(16)])
    described, found = describe(given, is_success), figures_of(given, is_success, {"run": "mine"})
    assert described.reward is not None and described.reward.low is not None
    assert found.totals["reward"] == described.reward.value
    assert found.totals["reward_low"] == described.reward.low
    assert found.totals["attempts/4/pass_at"] == described.attempts[2].pass_at.value
    assert found.totals["episodes"] == found.totals["status/completed"] == 16
    assert found.facts["run"] == "mine" and all(map(math.isfinite, found.totals.values()))


def test_a_curve_has_a_point_for_each_version_of_the_policy() -> None:
    given = collected([row("a", 1.0, 7), row("a", 0.0, 5), row("b", 1.0, 5)])
    curves = figures_of(given, is_success, {}).by_version
    assert list(curves) == [5, 7]
    assert (curves[5]["reward"], curves[5]["episodes"], curves[7]["reward"]) == (0.5, 2, 1.0)
    assert figures_of(collected([row("a", 1.0)]), is_success, {}).by_version == {}


@pytest.mark.parametrize("name", ["../../etc", "a/b", "<b>x</b>", "", "x" * 500, ".."])
def test_names_of_tools_are_no_paths_and_no_markup(name: str) -> None:
    events = [
        {"kind": "message", "participant": "policy", "tool_calls": [{"id": "1", "name": name, "arguments": "{}"}]},
        {"kind": "tool_result", "participant": "policy", "tool_call_id": "1", "tool_calls": []},
    ]
    found = figures_of(collected([row("a", 1.0, events=events)]), is_success, {}).totals
    [tool] = {key.split("/")[1] for key in found if key.startswith("tools/")}
    assert all(len(key.split("/")) == 3 for key in found if key.startswith("tools/"))
    assert tool not in ("", ".", "..") and len(tool) <= 80 and "<" not in tool
