"""`ray-gym health` prints findings as lines, or as JSON, and tells what is no run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shown_runs import episode, event, write
from typer.testing import CliRunner

from ray_gym.cli.app import app
from ray_gym.errors import UserError
from ray_gym.run.fingerprint import Fingerprint


def test_findings_are_lines_that_can_be_pasted(tmp_path: Path) -> None:
    wrong = event(2, "tool_result", "", tool_call_id="1", error="\x1b[31mlocked")
    call = event(1, "message", "", tool_calls=[{"id": "1", "name": "look[/b]\nup", "arguments": "{}"}])
    rows = [episode(number, number / 10, task=f'{{"n": {number}}}', events=[call, wrong]) for number in range(4)]
    write(tmp_path / "run", *rows)
    told = CliRunner().invoke(app, ["health", str(tmp_path / "run")])
    assert told.exit_code == 0 and "4 of 4 calls (100.0%) of look[/b] up were answered with an error" in told.output
    assert "e.g. e0, e1, e2" in told.output and "episode_id IN ('e0', 'e1', 'e2', 'e3')" in told.output
    found = json.loads(CliRunner().invoke(app, ["health", str(tmp_path / "run"), "--json"]).output)
    assert found["episodes"] == 4 and "tool_error" in [one["kind"] for one in found["findings"]]


def test_a_run_without_episodes_has_nothing_and_no_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty" / "episodes").mkdir(parents=True)
    told = CliRunner().invoke(app, ["health", str(tmp_path / "empty")])
    assert told.exit_code == 0 and "there are no episodes to look at" in told.output
    refused = CliRunner().invoke(app, ["health", str(tmp_path / "nowhere")])
    assert isinstance(refused.exception, UserError)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("health", "there are no episodes to look at"),
        ("health", "the run was interrupted: 0 of 3 episodes; "),
        ("show", "the run was interrupted: 0 of 3 episodes; "),
        ("stats", "it has no episodes: "),
        ("report", "once the cause is gone, resume it with `ray-gym rollout --resume "),
        ("export", "it has no episodes: "),
        ("runs", "interrupted 0 of 3"),
    ],
)
def test_a_run_that_ended_before_its_first_row_has_its_cause_in_all_commands(
    tmp_path: Path, command: str, told: str
) -> None:
    run = tmp_path / "runs" / "mine"
    (run / "episodes").mkdir(parents=True)
    (run / "plan.json").write_text(Fingerprint("mine:Mine", 3, "", "").as_json())
    (run / "run.yaml").write_text("environment: {}\n")
    summary = {
        "episodes": 0,
        "of": 3,
        "interrupted": True,
        "status": {},
        "mean_reward": None,
        "failure": "the first [3]",
    }
    (run / "summary.json").write_text(json.dumps(summary))
    out = ["--out", str(tmp_path / "x")]
    arguments = {
        "runs": ["--dir", str(run.parent)],
        "report": [str(run), *out],
        "export": [str(run), "--to", "jsonl", *out],
    }
    done = CliRunner().invoke(app, [command, *arguments.get(command, [str(run)])])
    said = " ".join(f"{done.output} {done.exception or ''}".split())
    assert told in said and "the run was ended: the first [3]" in said and "one of them" not in said


@pytest.mark.parametrize("change", [{"events": None}, {"samples": None}, {"failure": None}, {"task": None}])
def test_rows_that_lack_parts_are_examined(tmp_path: Path, change: dict[str, None]) -> None:
    write(tmp_path / "run", *(episode(number, 0.5, **change) for number in range(3)))
    assert CliRunner().invoke(app, ["health", str(tmp_path / "run")]).exit_code == 0


def test_a_run_that_was_killed_is_not_finished() -> None:
    stored = Path(__file__).parents[1] / "record" / "versions" / "2" / "interrupted"
    told = " ".join(CliRunner().invoke(app, ["health", str(stored)]).output.split())
    assert "the run is not finished: " in told and " of 6 episodes; if nothing plays it, resume it with: " in told
