"""The benchmark of the agents' door loses nothing, and the event loop stays free under 1,000 agents that call at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

from benchmarks.agent_door import CALLS, MOST_LAG_MS, Measured, main, measure


async def test_agents_that_call_at_once_lose_nothing(tmp_path: Path) -> None:
    measured = await measure(30, tmp_path)
    figures = measured.figures()
    assert (figures["episodes"], figures["lost"]) == (30, 0) and measured.lags
    assert [one.episode.answer for one in measured.played] == [str(2 * CALLS - 1)] * 30
    measured.played[0].episode.threads["policy"].messages.pop()
    assert measured.lost() == 1


def test_what_is_lost_and_a_lag_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Measured, "lost", lambda _: 2)
    monkeypatch.setattr("benchmarks.agent_door.MOST_LAG_MS", -1.0)
    assert main(["--episodes", "3", "--rounds", "1", "--json", str(tmp_path / "figures.json")]) == 1
    told = capsys.readouterr().err
    assert "2 episodes were lost" in told and "lag p99" in told
    [figures] = json.loads((tmp_path / "figures.json").read_text())["rounds"]
    assert figures["episodes"] == 3


@pytest.mark.clock
def test_a_thousand_agents_leave_the_event_loop_free(tmp_path: Path) -> None:
    """They call a process of its own, as a worker is: that of the tests holds what other tests have left in it."""
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.agent_door", "--rounds", "1", "--json", str(file)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [figures] = json.loads(file.read_text())["rounds"]
    assert figures["episodes"] == 1000 and figures["lost"] == 0 and figures["lag p99 (ms)"] < MOST_LAG_MS
