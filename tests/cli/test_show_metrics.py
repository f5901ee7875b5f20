"""`ray-gym show RUN` prints the figures of the run's environment, where there are any."""

from __future__ import annotations

import io
import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console
from shown_runs import episode, event, write

from ray_gym import Environment, Task
from ray_gym.cli.show import line_of, mean_line, show_run
from ray_gym.cli.show_episode import show_episode
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.load import load
from ray_gym.record.schema import as_table, failed_row
from ray_gym.run.fingerprint import Fingerprint
from ray_gym.statistics.means import mean_over_tasks


class Plain(Environment[Task, None]):
    """Has no metrics."""


class Counted(Environment[Task, None]):
    metrics_columns = ("seed", "status")

    @classmethod
    def metrics(cls, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        assert rows[0] == {"seed": 0, "status": "failed"}, "nothing else is read into memory as Python's objects"
        return {"episodes": len(rows), "seeds@[2]": sum(row["seed"] for row in rows) / 2}


class Leaving(Environment[Task, None]):
    @classmethod
    def metrics(cls, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        raise SystemExit


class Misspelt(Counted):
    metrics_columns = ("seed", "statsu")


class Partly(Environment[Task, None]):
    @classmethod
    def metrics(cls, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        return {"won": 0.5, "turns": None, "name": "[b]"}  # type: ignore[dict-item]


class Broken(Environment[Task, None]):
    @classmethod
    def metrics(cls, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        raise KeyError("no such [column]")


class Unnamed(Environment[Task, None]):
    @classmethod
    def metrics(cls, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        return 5  # type: ignore[return-value]


def shown(directory: Path, env_id: str, episodes: int = 3) -> str:
    folder = directory / "episodes"
    folder.mkdir(parents=True)
    specs = [EpisodeSpec(f"e{seed}", "group", "task", seed, seed, "{}") for seed in range(episodes)]
    if specs:
        rows = [failed_row(spec, "run", env_id, "stopped") for spec in specs]
        pq.write_table(as_table(rows), folder / "a.parquet")
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(directory))
    return out.getvalue()


def test_a_column_that_no_run_has_is_named(tmp_path: Path) -> None:
    text = shown(tmp_path, "test_show_metrics:Misspelt")
    assert "the metrics of test_show_metrics:Misspelt can't be worked out" in text and "statsu" in text


def test_metrics_are_shown_below_the_episodes(tmp_path: Path) -> None:
    text = shown(tmp_path, "test_show_metrics:Counted")
    assert "metrics: episodes 3.000  seeds@[2] 1.500\n" in text
    assert text.index("e2") < text.index("metrics:") < text.index("one of them")


def test_a_figure_that_is_no_number_loses_no_other(tmp_path: Path) -> None:
    assert "metrics: won 0.500  turns None  name '[b]'\n" in shown(tmp_path, "test_show_metrics:Partly")


def test_environments_without_metrics_and_runs_without_episodes_show_none(tmp_path: Path) -> None:
    assert "metrics" not in shown(tmp_path / "plain", "test_show_metrics:Plain").replace("test_show_metrics", "")
    empty = shown(tmp_path / "empty", "test_show_metrics:Counted", episodes=0)
    assert "metrics:" not in empty and "reward" in empty and "one of them" not in empty


def test_a_run_can_be_looked_at_without_its_environment(tmp_path: Path) -> None:
    for name, env_id, why in [
        ("unknown", "chess_on_mars", "there is no environment 'chess_on_mars'"),
        ("module", "no_such_module:Mars", "can't import no_such_module"),
        ("broken", "test_show_metrics:Broken", "KeyError: 'no such [column]' (test_show_metrics.py:"),
        ("unnamed", "test_show_metrics:Unnamed", "it returned 5; expected figures by name (test_show_metrics.py:"),
        ("leaving", "test_show_metrics:Leaving", "SystemExit (test_show_metrics.py:"),
    ]:
        text = shown(tmp_path / name, env_id)
        assert f"the metrics of {env_id} can't be worked out: " in text and why in text
        assert "e2" in text and "one of them" in text


def test_the_environment_is_looked_for_beside_the_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "shown_from_afar.py").write_text(
        "from test_show_metrics import Counted\n\n\nclass Mine(Counted):\n    pass\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "")
    run = tmp_path / "run"
    (run / "episodes").mkdir(parents=True)
    (run / "plan.json").write_text(Fingerprint("shown_from_afar:Mine", 3, "", str(project)).as_json())
    (run / "run.yaml").write_text("")
    (run / "summary.json").write_text(json.dumps({"episodes": 3, "failure": "all[/] failed"}))
    rows = [
        failed_row(EpisodeSpec(f"e{n}", "group", "task", n, n, "{}"), "run", "shown_from_afar:Mine", "x")
        for n in range(3)
    ]
    pq.write_table(as_table(rows), run / "episodes" / "a.parquet")
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(run))
    assert "metrics: episodes 3.000" in out.getvalue()
    assert "the run was ended: all[/] failed" in out.getvalue()


def test_kinds_of_failures_that_are_not_shown_are_counted(tmp_path: Path) -> None:
    (tmp_path / "episodes").mkdir()
    failures = ["bad", "worse", "no good", "broken", "lost", "gone", "gone"]
    specs = [EpisodeSpec(f"e{n}", "group", "task", n, n, "{}") for n in range(len(failures))]
    rows = [
        failed_row(spec, "run", "test_show_metrics:Plain", failure)
        for spec, failure in zip(specs, failures, strict=True)
    ]
    pq.write_table(as_table(rows), tmp_path / "episodes" / "a.parquet")
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(tmp_path))
    assert "  ... and 1 more kinds of failures" in out.getvalue()


def test_a_run_tells_how_many_episodes_were_dropped_with_their_groups(tmp_path: Path) -> None:
    write(tmp_path, episode(0), episode(1, status="dropped"))
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(tmp_path))
    assert "1 dropped with their groups, not in the mean reward\n" in out.getvalue()


def test_a_run_tells_which_episodes_are_scored_in_spite_of_a_failure(tmp_path: Path) -> None:
    faults = [{"kind": "policy", "where": "agent python", "message": message} for message in ("late", "late", "killed")]
    write(tmp_path, episode(0), *(episode(n, failure=fault) for n, fault in enumerate(faults, 1)))
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(tmp_path))
    told = "3 scored all the same:\n  2 policy in agent python: late\n  1 policy in agent python: killed\n"
    assert told in out.getvalue() and "failed" not in out.getvalue()


def test_a_run_shows_its_state_and_what_failed(tmp_path: Path) -> None:
    text = shown(tmp_path, "test_show_metrics:Plain", episodes=60)
    assert "... and 10 more (--all shows them)" in text
    assert "60 failed (--failed shows which):" in text and "  60 environment in record: stopped" in text


def test_all_episodes_and_only_those_that_failed_can_be_shown(tmp_path: Path) -> None:
    shown(tmp_path, "test_show_metrics:Plain", episodes=60)
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(tmp_path), everything=True)
    assert "e59" in out.getvalue() and "more (--all" not in out.getvalue()
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(tmp_path), failed=True)
    assert out.getvalue().count("environment in record: stopped") == 50 + 1


def test_a_run_that_was_killed_says_that_it_is_not_finished(tmp_path: Path) -> None:
    stored = Path(__file__).parents[1] / "record" / "versions" / "2" / "interrupted"
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(stored))
    told = " ".join(out.getvalue().split())
    assert "the run is not finished: " in told and " of 6 episodes; if nothing plays it, resume it with: " in told
    assert "mean reward: " in told


def test_a_run_that_was_killed_before_its_summary_says_that_it_is_not_finished(tmp_path: Path) -> None:
    stored = Path(__file__).parents[1] / "record" / "versions" / "2" / "finished"
    shutil.copytree(stored, tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(tmp_path / "run"))
    assert "the run is not finished: 4 of 4 episodes, and no summary.json; if nothing plays it" in out.getvalue()


def test_a_mean_has_an_interval_over_tasks() -> None:
    rows = [{"task_id": f"t{n // 2}", "reward": float(n % 3 == 0)} for n in range(12)]
    found = mean_over_tasks([row["reward"] for row in rows], [row["task_id"] for row in rows])
    assert mean_line(rows) == f"mean reward: 0.333 [{found.low:.3f}, {found.high:.3f}], of 12 episodes"
    assert mean_line(rows[:2]) == "mean reward: 0.500, of 2 episodes", "of one task"


EVIL = "[/b]\x1b]0;title\x07\u202e"


def test_data_is_shown_as_text(tmp_path: Path) -> None:
    spec = EpisodeSpec("e[/b]1", f"group{EVIL}", f"task{EVIL}", 0, 0, "{}")
    row = {**failed_row(spec, "run", f"env{EVIL}", f"failed{EVIL}"), "traceback": f"x.py:1{EVIL}"}
    row["rewards"] = [{"participant": f"p{EVIL}", "name": EVIL, "value": 1.0}]
    (tmp_path / "episodes").mkdir(parents=True)
    pq.write_table(as_table([row]), tmp_path / "episodes" / "a.parquet")
    out = io.StringIO()
    console = Console(file=out, width=300)
    show_run(console, load(tmp_path))
    show_episode(console, load(tmp_path), "e[/b]1")
    shown = out.getvalue()
    assert "\x1b" not in shown and "\x07" not in shown and "\u202e" not in shown
    assert shown.count(r"[/b]\x1b]0;title\x07\u202e") >= 5


@pytest.mark.parametrize("given", [{"status": EVIL}, {"stop_reason": EVIL}, {"failure": EVIL}, {"kind": EVIL}])
def test_words_that_a_record_itself_has_are_shown_as_text(tmp_path: Path, given: dict[str, str]) -> None:
    """A run of somebody else's may hold anything where ours hold one of a few words."""
    failure = {"kind": given.get("failure", "infra"), "where": "x", "message": "y"}
    events = [event(0, given.get("kind", "message"), "Hi.")]
    words = {name: text for name, text in given.items() if name in ("status", "stop_reason")}
    write(tmp_path, {**episode(1), "failure": failure, "events": events, **words})
    console = Console(file=io.StringIO(), width=300)
    console.print(line_of({**episode(1), "failure": failure, **words}))
    show_run(console, load(tmp_path))
    show_episode(console, load(tmp_path), "e1")
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert not {"\x1b", "\x07", "\u202e"} & set(shown) and r"[/b]\x1b]0;title\x07\u202e" in shown


def test_a_judges_question_and_its_answer_are_told_apart(tmp_path: Path) -> None:
    shown = shown_judges(tmp_path, [("judge/1", "user", "Is it right?"), ("judge/1", "assistant", "[[YES]]")])
    assert shown == ["judge is asked: Is it right?", "judge answers: [[YES]]"]


def test_what_a_judge_is_asked_again_is_shown_once(tmp_path: Path) -> None:
    first = [("user", "Is it right?"), ("assistant", "Hm.")]
    second = [*first, ("user", "Say YES or NO."), ("assistant", "Hm.")]
    third = [*second, ("user", "Say YES or NO."), ("assistant", "NO")]
    other = [("user", "Is it kind?"), ("assistant", "NO")]
    said = [(f"judge/{n}", *one) for n, asked in enumerate((first, second, third, other), 1) for one in asked]
    assert shown_judges(tmp_path, said) == [
        "judge is asked: Is it right?",
        "judge answers: Hm.",
        "judge is asked: Say YES or NO.",
        "judge answers: Hm.",
        "judge is asked: Say YES or NO.",
        "judge answers: NO",
        "judge is asked: Is it kind?",
        "judge answers: NO",
    ]


def test_a_question_that_is_asked_anew_has_each_answer(tmp_path: Path) -> None:
    said = [(f"judge/{n}", role, text) for n in (1, 2) for role, text in (("user", "Is it?"), ("assistant", "NO"))]
    assert shown_judges(tmp_path, said) == ["judge is asked: Is it?", "judge answers: NO", "judge answers: NO"]


def test_a_call_by_mcp_is_shown_with_its_result(tmp_path: Path) -> None:
    row = failed_row(EpisodeSpec("e1", "group", "task", 0, 0, "{}"), "run", "env", "failed")
    call = {"id": "mcp_1", "name": "put", "arguments": '{"amount": 7}'}
    told = {
        "kind": "tool_call",
        "thread": "policy",
        "role": "tool",
        "participant": "policy",
        "visible_to": [],
        "seq": 0,
    }
    row["events"] = [{**told, "tool_calls": [call], "content": [{"type": "text", "text": "7 in it"}]}]
    (tmp_path / "episodes").mkdir(parents=True)
    pq.write_table(as_table([row]), tmp_path / "episodes" / "a.parquet")
    out = io.StringIO()
    show_episode(Console(file=out, width=160), load(tmp_path), "e1")
    assert 'policy calls put({"amount": 7})\ntool, to policy: 7 in it\n' in out.getvalue()


def test_what_an_agents_conversation_begins_with_is_shown_once(tmp_path: Path) -> None:
    """A program is told the participant's opening, its tools change after its first call, and its last words are said."""
    first = [
        ("system", "system", "Be brief."),
        ("opening", "user", "Add 1 and 2."),
        ("message", "assistant", "Let me see."),
    ]
    again = [
        *first[:2],
        ("opening", "assistant", "Let me see."),
        ("tool_result", "tool", "3"),
        ("message", "assistant", "3."),
    ]
    said = [
        ("policy", "opening", "user", "Add 1 and 2."),
        *(("policy/1", *one) for one in first),
        *(("policy/2", *one) for one in again),
        ("policy", "message", "assistant", "3."),
    ]
    text = shown_policy(tmp_path, said)
    lines = [line for line in text.splitlines() if line.startswith(("system", "opening", "policy", "tool"))]
    assert lines == [
        "opening, to policy: Add 1 and 2.",
        "system, to policy: Be brief.",
        "policy: Let me see.",
        "tool, to policy: 3",
        "policy: 3.",
    ]


def test_words_that_a_participant_says_again_are_shown_again(tmp_path: Path) -> None:
    """Only an answer of an agent repeats what its model said, once for each answer."""
    plain = [("policy", "message", "assistant", text) for text in ("Pardon?", "Pardon?", "Oh.", "Pardon?")]
    assert said_by(shown_policy(tmp_path / "plain", plain)) == ["Pardon?", "Pardon?", "Oh.", "Pardon?"]
    model = ("policy/1", "message", "assistant", "Pardon?")
    assert said_by(shown_policy(tmp_path / "agent", [model, plain[0], plain[0]])) == ["Pardon?", "Pardon?"]
    assert said_by(shown_policy(tmp_path / "told", [model, plain[2], plain[0]])) == ["Pardon?", "Oh.", "Pardon?"]
    calls = [model, ("policy", "opening", "user", "Hi."), plain[0], model, plain[0]]
    assert said_by(shown_policy(tmp_path / "again", calls)) == ["Pardon?", "Pardon?"]


def said_by(text: str) -> list[str]:
    """Returns what the policy said, of the text of `shown_policy`."""
    return [line.removeprefix("policy: ") for line in text.splitlines() if line.startswith("policy: ")]


@pytest.mark.usefixtures("own_garbage")
def test_an_agent_whose_every_step_is_a_conversation_is_shown_soon(tmp_path: Path) -> None:
    """Its n-th conversation begins with all that was said in those before."""
    steps = 200
    said = [
        (f"policy/{step}", *one)
        for step in range(steps)
        for one in (
            *(("opening", "tool" if place % 2 else "assistant", f"word {place}") for place in range(2 * step)),
            ("message", "assistant", f"word {2 * step}"),
        )
    ]
    text, took = timed_policy(tmp_path, said)
    assert took < 3
    assert [line for line in text.splitlines() if "word" in line] == [
        f"{'policy' if place % 2 == 0 else 'opening, to policy'}: word {place}" for place in range(2 * steps - 1)
    ]


def shown_policy(run: Path, said: Sequence[tuple[str, str, str, str]]) -> str:
    """Returns what `show` prints of what the policy was told and said, given by thread, kind, role and text."""
    return timed_policy(run, said)[0]


def timed_policy(run: Path, said: Sequence[tuple[str, str, str, str]]) -> tuple[str, float]:
    """Returns the text of `shown_policy`, and the seconds of processor time that printing it took."""
    row = failed_row(EpisodeSpec("e1", "group", "task", 0, 0, "{}"), "run", "env", "failed")
    told = {"participant": "policy", "visible_to": ["policy"], "seq": 0, "turn": 0, "tool_calls": []}
    row["events"] = [
        {**told, "thread": thread, "kind": kind, "role": role, "content": [{"type": "text", "text": text}]}
        for thread, kind, role, text in said
    ]
    (run / "episodes").mkdir(parents=True)
    pq.write_table(as_table([row]), run / "episodes" / "a.parquet")
    out = io.StringIO()
    began = time.process_time()
    show_episode(Console(file=out, width=160), load(run), "e1")
    return out.getvalue(), time.process_time() - began


def shown_judges(run: Path, said: Sequence[tuple[str, str, str]]) -> list[str]:
    """Returns the lines that `show` prints of what judges were asked and said, given by thread, role and text."""
    row = failed_row(EpisodeSpec("e1", "group", "task", 0, 0, "{}"), "run", "env", "failed")
    row["try"] = 1
    row["events"] = [
        {"kind": "judge", "thread": thread, "role": role, "participant": "judge", "tool_calls": [], "visible_to": []}
        | {"content": [{"type": "text", "text": text}], "seq": seq}
        for seq, (thread, role, text) in enumerate(said)
    ]
    (run / "episodes").mkdir(parents=True)
    pq.write_table(as_table([row]), run / "episodes" / "a.parquet")
    out = io.StringIO()
    show_episode(Console(file=out, width=160), load(run), "e1")
    assert "repeat 0, try 2)" in out.getvalue()
    return [line for line in out.getvalue().splitlines() if line.startswith("judge ")]
