"""Checks `ray-gym stats`: what it prints, what it gives to other programs, and what it says of wrong input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import REPOSITORY, ray_gym_here
from made_runs import end, new_run, run_of_rows
from scipy import stats

from ray_gym.record.schema import SCHEMA, VERSION_KEY

REWARDS = {"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [0.0, None]}
TOOL = [{"id": "1", "name": "find", "arguments": "{}"}]


def rows(rewards: dict[str, list[float | None]]) -> list[dict[str, Any]]:
    return [
        {
            "episode_id": f"{task}-{repeat}",
            "env_id": "made",
            "task_id": task,
            "group_id": task,
            "repeat": repeat,
            "status": "failed" if reward is None else "completed",
            "stop_reason": "failed" if reward is None else "finished",
            "failure": {"kind": "judge", "where": "judge", "message": "m"} if reward is None else None,
            "reward": reward,
            "turns": 1 + repeat,
            "events": [
                {
                    "kind": "message",
                    "thread": "policy",
                    "tool_calls": TOOL,
                    "content": [{"type": "text", "text": "so:"}],
                },
                {"kind": "tool_result", "tool_call_id": "1", "error": "gone" if task == "b" else None},
                {"kind": "message", "thread": "policy", "content": [{"type": "text", "text": f"Answer: {reward}"}]},
            ],
            "usage": {
                "generated_tokens": 10 + repeat,
                "prompt_tokens": 5,
                "tool_calls": 1,
                "tool_errors": int(task == "b"),
            },
        }
        for task, of_task in rewards.items()
        for repeat, reward in enumerate(of_task)
    ]


def made(folder: Path, name: str, rewards: dict[str, list[float | None]]) -> str:
    """Makes a finished run, and returns its location."""
    made_rows = rows(rewards)
    end(run_of_rows(folder, name, made_rows, planned=len(made_rows)))
    return str(folder / name)


def told(*arguments: str) -> Any:
    done = ray_gym_here("stats", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_a_run_shows(tmp_path: Path) -> None:
    run = made(tmp_path, "one", REWARDS)  # type: ignore[arg-type]
    done = ray_gym_here("stats", run, "--by", "task", "--answers", "answer_line")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"{run}: 6 episodes of 3 tasks (5 completed, 1 failed)"
    for said in (
        "mean reward: 0.6 [",
        "of 5 completed episodes",
        "success (reward >=1): 60.0% [",
        "majority@k",
        "failed: 16.7% [",
        "by whose fault: judge 16.7% [",
        "by the simulated user's or the judge's: 16.7% [",
        "stopped by: finished 83.3% [",
        "generated tokens against reward: r = ",
        "2 of 3",
    ):
        assert said in done.stdout, said
    [find] = [line.split() for line in lines if line.startswith(" find")]
    assert find[1:4] == ["6", "2", "33.3%"] and find[-3:] == ["1", "of", "3"]
    assert [line.split()[0] for line in lines[-3:]] == ["a", "b", "c"] and "(no interval)" in lines[-1]


def test_numbers_for_other_programs(tmp_path: Path) -> None:
    run = made(tmp_path, "one", REWARDS)  # type: ignore[arg-type]
    found = told(run, "--by", "env,turns", "--attempts", "2,1,2", "--success", ">0.5")
    assert (found["run"], found["success_is"], found["episodes"], found["tasks"]) == (run, ">0.5", 6, 3)
    sums = np.array([1 - 2 * 0.6, 2 - 2 * 0.6, -0.6])
    se = np.sqrt(3 / 2 * np.square(sums).sum()) / 5
    width = stats.t.ppf(0.975, 2) * se
    mean = found["reward"]
    assert (mean["value"], mean["se"]) == pytest.approx((0.6, se))
    assert (mean["low"], mean["high"]) == pytest.approx((0.6 - width, 0.6 + width))
    assert [(one["k"], one["tasks"]) for one in found["attempts"]] == [(1, 3), (2, 2)]
    assert [one["key"] for one in found["by"]] == [{"env_id": "made", "turns": 1}, {"env_id": "made", "turns": 2}]
    assert found["failures"]["simulators"]["value"] == pytest.approx(1 / 6)
    assert found["tools"]["find"]["errors"] == 2


def test_two_runs(tmp_path: Path) -> None:
    before = made(tmp_path, "before", {"a": [1.0], "b": [0.0], "c": [0.0], "d": [0.0], "old": [1.0]})
    after = made(tmp_path, "after", {"a": [1.0], "b": [1.0], "c": [0.0], "d": [1.0]})
    found = told(before, after, "--by", "env")
    reward = found["comparison"]["numbers"]["reward"]
    test = stats.ttest_1samp([0, 1, 0, 1], 0)
    assert (reward["first"], reward["second"], reward["difference"]["p"]) == pytest.approx((0.25, 0.75, test.pvalue))
    assert (found["comparison"]["common"], found["comparison"]["only_first"]) == (4, 1)
    assert found["comparison"]["flips"] == {"gained": 2, "lost": 0, "p": 0.5}
    assert found["by"][0]["key"] == {"env_id": "made"} and found["by"][0]["reward"]["first"] == 0.25
    assert [one["run"] for one in found["runs"]] == [before, after]
    done = ray_gym_here("stats", before, after, "--by", "env")
    assert done.returncode == 0 and f"second: {after}, 4 episodes" in done.stdout
    assert "4 tasks are in both and count once each (1 only in the first, 0 only in the second)" in done.stdout
    assert "2 tasks are a success in the second only, 0 in the first only: p = 0.5 (McNemar, exact)" in done.stdout
    assert "least effect" in done.stdout


def test_one_task_has_no_interval_and_it_says_why(tmp_path: Path) -> None:
    run = made(tmp_path, "one", {"a": [1.0, 0.0]})
    done = ray_gym_here("stats", run)
    assert "warning: no intervals over tasks: one task only" in done.stdout
    assert "mean reward: 0.5 (no interval)" in done.stdout
    assert "no intervals: one task only" in ray_gym_here("stats", run, run).stdout


def test_a_run_without_a_completed_episode(tmp_path: Path) -> None:
    done = ray_gym_here("stats", made(tmp_path, "one", {"a": [None], "b": [None]}))
    assert done.returncode == 0 and "no completed episode has a reward" in done.stdout
    assert "failed: 100.0%" in done.stdout and "mean reward" not in done.stdout


def test_a_mean_near_a_bound_is_warned_of(tmp_path: Path) -> None:
    run = made(tmp_path, "one", {str(number): [float(number == 0)] for number in range(30)})
    done = ray_gym_here("stats", run)
    assert "warning: the mean reward is near 0: its interval holds the true value less often than 95%" in done.stdout


def test_a_run_that_is_not_finished_and_damaged_files(tmp_path: Path) -> None:
    run = made(tmp_path, "one", {"a": [1.0], "b": [0.0]})
    (tmp_path / "one" / "plan.json").write_text(json.dumps({"environment": "a:B", "episodes": 9, "digest": ""}))
    [part] = (tmp_path / "one" / "episodes").iterdir()
    part.with_name("part-00000009-cut.parquet").write_bytes(part.read_bytes()[:-20])
    part.with_name(".half.tmp").write_bytes(b"PAR1")
    done = ray_gym_here("stats", run)
    assert done.returncode == 0 and f"{run} has 2 of 9 planned episodes" in done.stdout
    assert (
        "warning: left out: " in done.stdout
        and "part-00000009-cut.parquet: this file of rows is damaged" in done.stdout
    )
    assert len(told(run)["remarks"]) >= 2
    part.write_bytes(b"PAR1")
    done = ray_gym_here("stats", run)
    assert done.returncode == 2 and "damaged" in done.stderr and done.stderr.count("\n") == 1


def test_rewards_that_are_no_numbers_are_null_and_left_out(tmp_path: Path) -> None:
    run = made(tmp_path, "one", {"a": [1.0, float("nan")], "b": [0.0, float("inf")], "c": [1.0, 0.0]})
    found = told(run)
    assert found["reward"]["value"] == pytest.approx(0.5) and found["reward"]["episodes"] == 4
    assert "2 completed episodes have no reward that is a finite number" in found["remarks"][0]
    assert told(made(tmp_path, "huge", {"a": [1e308, -1e308], "b": [1.7e308, 1.7e308]}))["reward"]["se"] is None


def test_a_file_of_an_unknown_version(tmp_path: Path) -> None:
    run = made(tmp_path, "one", {"a": [1.0], "b": [0.0]})
    later = SCHEMA.with_metadata({VERSION_KEY: "99"})
    [part] = (tmp_path / "one" / "episodes").iterdir()
    pq.write_table(pa.Table.from_pylist([], schema=later), part.with_name("part-00000009-later.parquet"))
    done = ray_gym_here("stats", run)
    assert done.returncode == 0 and "part-00000009-later.parquet: it has version 99 of the record" in done.stdout
    part.unlink()
    done = ray_gym_here("stats", run)
    assert done.returncode == 2 and "it has version 99 of the record" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["RUN", "--by", "nope"], "--by: there is no column 'nope'; there are: env, task"),
        (["RUN", "--by", ","], "--by: no column is named"),
        (["RUN", "--success", "1"], "--success: '1' is no comparison with a number"),
        (["RUN", "--attempts", "1,0"], "--attempts: '1,0' is no list of whole numbers above 0"),
        (["RUN", "--attempts", "x"], "--attempts: 'x' is no list"),
        (["RUN", "--answers", "boxed"], "--answers: 'boxed' is none of whole, last_boxed, answer_line, tag:NAME"),
        (["RUN", "--answers", "regex:("], "--answers: '(' is no regular expression"),
        (["FOLDER/none"], "none is no run directory"),
        (["FOLDER"], "is no run directory"),
        (["RUN", "FOLDER/other"], "can't be compared: the two runs have no task in common"),
        (["FOLDER/empty"], "it has no episodes yet"),
        ([], "Missing argument"),
    ],
)
def test_wrong_input_is_told_in_a_line(arguments: list[str], said: str, tmp_path: Path) -> None:
    run = made(tmp_path, "one", {"a": [1.0], "b": [0.0]})
    made(tmp_path, "other", {"c": [1.0]})
    end(new_run(tmp_path, "empty"))
    given = [argument.replace("RUN", run).replace("FOLDER", str(tmp_path)) for argument in arguments]
    done = ray_gym_here("stats", *given)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
    assert not done.stdout and "Traceback" not in done.stderr


def test_names_that_command_the_terminal_are_shown_with_escapes(tmp_path: Path) -> None:
    made_rows = rows({"a\x1b]0;x\x07[red]": [1.0], "b": [0.0]})
    for row in made_rows:
        row["events"][0]["tool_calls"] = [{"id": "1", "name": "\x1b[2J[red]find", "arguments": "{}"}]
    end(run_of_rows(tmp_path, "one", made_rows, planned=2))
    done = ray_gym_here("stats", str(tmp_path / "one"), "--by", "task")
    assert done.returncode == 0 and "\x1b" not in done.stdout and "[red]find" in done.stdout


@pytest.mark.parametrize("version", [1, 2, 3])
def test_runs_of_earlier_versions(version: int) -> None:
    found = told(f"tests/record/versions/{version}/finished")
    assert found["episodes"] == 4 and found["tools"]


def test_the_cost_of_a_run_is_a_line_where_it_has_one(tmp_path: Path) -> None:
    run = str(REPOSITORY / "tests/record/versions/5/finished")
    done = ray_gym_here("stats", run)
    assert done.returncode == 0 and "cost of all episodes: 0.008677" in done.stdout
    assert json.loads(ray_gym_here("stats", run, "--json").stdout)["cost"] == pytest.approx(0.0086771)
    assert "cost of all" not in ray_gym_here("stats", made(tmp_path, "free", REWARDS)).stdout
