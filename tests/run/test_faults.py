"""Checks environments that break: their episodes fail with the right kind, and all others finish."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import ray_gym

from ray_gym.load import load

pytestmark = pytest.mark.ray

CONFIG = """\
environment: {{id: "faulty:{environment}"}}
tasks: {{path: tasks.jsonl}}
models:
  policy: {{engine: scripted, player: "faulty:policy"}}
  user: {{engine: scripted, player: "faulty:user"}}
participants: {{policy: {{model: policy}}, user: {{model: user}}}}
limits: {{max_turns: 2, tool_deadline_s: 2, call_deadline_s: 2, score_deadline_s: 2, episode_deadline_s: 8}}
fanout: {{stuck_after_s: 2}}
"""
JUDGED = ["models.judge={engine: scripted, player: 'faulty:judge'}", "participants.judge.model=judge"]
DOWN = ["models.down={engine: scripted, player: 'faulty:judge'}", "participants.down.model=down"]


@dataclass(frozen=True)
class Ended:
    """Holds what a run left that has ended, its rows by what was wrong with their tasks."""

    code: int
    told: str
    rows: dict[str, list[dict[str, Any]]]
    summary: dict[str, Any]
    files: dict[str, set[str]]
    """By group: the files that have rows of it."""

    def row(self, fault: str) -> dict[str, Any]:
        [row] = self.rows[fault]
        return row

    def failure(self, fault: str) -> tuple[str, str, str, str]:
        row = self.row(fault)
        failure = row["failure"] or {"kind": "", "where": "", "message": ""}
        return row["status"], failure["kind"], failure["where"], failure["message"]


def play(cluster: dict[str, str], folder: Path, faults: list[str], *overrides: str, of: str = "Faulty") -> Ended:
    tasks = [json.dumps({"task_id": f"{n}", "fault": fault, "folder": str(folder)}) for n, fault in enumerate(faults)]
    (folder / "tasks.jsonl").write_text("\n".join(tasks))
    (folder / "config.yaml").write_text(CONFIG.format(environment=of))
    environment = {**cluster, "PYTHONPATH": str(Path(__file__).parent)}
    given = ["run.name=faults", f"output.dir={folder / 'runs'}", *overrides]
    done = ray_gym("rollout", str(folder / "config.yaml"), *given, environment=environment)
    run = folder / "runs" / "faults"
    assert "Traceback" not in done.stderr and run.is_dir(), done.stderr + done.stdout
    table = load(str(run)).episodes.to_pylist()
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(table, key=lambda row: (row["task_id"], row["repeat"])):
        rows.setdefault(json.loads(row["task"])["fault"], []).append(row)
    assert len({row["episode_id"] for row in table}) == len(table), "an episode is there twice"
    files: dict[str, set[str]] = {}
    for path in (run / "episodes").glob("*.parquet"):
        for group in load_groups(path):
            files.setdefault(group, set()).add(path.name)
    summary = json.loads((run / "summary.json").read_text())
    assert summary["episodes"] == len(table)
    return Ended(done.returncode, done.stderr + done.stdout, rows, summary, files)


def load_groups(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    groups: list[str] = pq.read_table(path, columns=["group_id"]).column("group_id").unique().to_pylist()
    return groups


@pytest.fixture(scope="module")
def broken_endpoint() -> Iterator[str]:
    """Serves an OpenAI-compatible endpoint that always answers 503, and yields its URL."""

    class Unavailable(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_error(503)

        def log_message(self, format: str, *args: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Unavailable)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()


HOOKS = ["setup", "opening", "run", "relay", "next_speaker", "narrow", "finished", "score"]
FAILURES = {  # what is wrong: kind, where, and what the message begins with
    **{hook: ("environment", f"Faulty.{hook}", f"RuntimeError: {hook} is broken") for hook in HOOKS},
    "raises": ("environment", "tool raises", "RuntimeError: raises is broken"),
    "sleeps": ("environment", "tool sleeps", "TimeoutError: no result within tool_deadline_s (2 s)"),
    "sleeps_in_a_thread": ("environment", "tool sleeps_in_a_thread", "TimeoutError: no result within tool_deadline_s"),
    "sleeps_in_a_process": ("environment", "tool sleeps_in_a_process", "TimeoutError: no result within tool_d"),
    "setup hangs": ("environment", "Faulty.setup", "TimeoutError: no result within call_deadline_s (2 s)"),
    "score hangs": ("environment", "Faulty.score", "TimeoutError: no result within score_deadline_s (2 s)"),
    "run cancels itself": ("environment", "episode", "CancelledError"),
    "gives_an_object": (
        "environment",
        "tool gives_an_object",
        "TypeError: it returned a object, of which all might be shown",
    ),
    "score exits in a task": ("environment", "Faulty.score (faulty.py:", "ExitOfTask: SystemExit: bye"),
    "score gives an object": ("environment", "Faulty.score", "TypeError: score() returned object"),
    "relay gives a number": ("environment", "Faulty.relay", "it returned 5, a int; expected a text"),
    "opening gives an object": ("environment", "Faulty.opening", "it returned "),
    "opening gives a dict": ("environment", "Faulty.opening", "TypeError: opening: expected text, got int"),
    "opening has a bad call": ("environment", "Faulty.opening (faulty.py:", "TypeError: expected text, got int"),
    "run ends with a number": ("environment", "Faulty.run", "TypeError: stop: expected text, got int"),
    "user says nothing": ("user", "user", "it said nothing"),
    "user raises": ("environment", "user", "scripted player (faulty.py:"),
    "judge raises": ("judge", "judge", "scripted player (faulty.py:"),
    "down": ("infra", "model http://127.0.0.1", "HTTP 503"),
}


def test_whatever_breaks_is_a_failure_of_its_kind_and_the_others_finish(
    cluster: dict[str, str], tmp_path: Path, broken_endpoint: str
) -> None:
    fine = ["none"] * 20
    down = f"models.down={{engine: openai, base_url: '{broken_endpoint}', model: m, probe: false, retries: 0}}"
    retries = "limits.retries={infra: 1, user: 1, judge: 0}"
    faults = ["blames_the_policy", "run hangs", "score has a part of no name", *FAILURES, *fine]
    ended = play(cluster, tmp_path, faults, *JUDGED, down, "participants.down.model=down", retries)
    wrong = {}
    for fault, (kind, where, message) in FAILURES.items():
        status, *found = ended.failure(fault)
        if (status, found[0]) != ("failed", kind) or not (found[1].startswith(where) and found[2].startswith(message)):
            wrong[fault] = (status, *found)
        assert ended.row(fault)["reward"] is None
    assert not wrong
    assert ended.failure("blames_the_policy") == ("completed", "policy", "rules", "it cheated")
    assert (ended.row("blames_the_policy")["reward"], ended.row("blames_the_policy")["stop_reason"]) == (
        1.0,
        "policy_failed",
    )
    assert (ended.row("run hangs")["status"], ended.row("run hangs")["stop_reason"]) == ("completed", "deadline")
    assert [row["status"] for row in ended.rows["none"]] == ["completed"] * len(fine)
    assert [ended.row(fault)["try"] for fault in ("user raises", "judge raises", "score")] == [0, 0, 0]
    assert ended.row("score has a part of no name")["rewards"][1]["name"] == "?"
    assert ended.code == 0, "within budget: there is none"
    assert ended.summary["status"] == {"completed": len(fine) + 3, "failed": len(FAILURES)}
    assert f"failed {len(FAILURES)}" in ended.told and "1 failed: environment in Faulty.relay (faulty.py:" in ended.told
    assert ended.summary["recovery"]["workers_lost"] == 0


CHARGED = {  # what kills workers: what the record says of it
    "blocks": "the event loop was blocked for 2 s in tool blocks (faulty.py:",
    "leaks": "the worker took ",
    "segfaults": "its worker died while it was the only episode there",
    "exits": "its worker died while it was the only episode there",
    "terminates": "its worker died while it was the only episode there",
}


@pytest.mark.chaos
def test_what_kills_workers_is_charged_and_what_is_not_deterministic_is_played_anew(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    """The faults end their workers by themselves, at the same call every time: no test has to kill one."""
    fine = ["none"] * 12
    faults = [*CHARGED, "fickle", "fickle twice", *fine]
    limits = [
        "fanout.memory_gb=0.8",
        *(f"limits.{of}" for of in ("tool_deadline_s=30", "call_deadline_s=20", "max_failed=1.0")),
    ]
    ended = play(cluster, tmp_path, faults, *limits, of="Deadly")
    for fault, told in CHARGED.items():
        status, kind, where, message = ended.failure(fault)
        assert (status, kind, where) == ("failed", "environment", "worker") and message.startswith(told), (
            fault,
            message,
        )
    assert "its code ended it (Segmentation fault) in segfaults (faulty.py:" in ended.failure("segfaults")[3]
    assert "its code ended it (os._exit) in exits (faulty.py:" in ended.failure("exits")[3]
    assert [row["status"] for row in ended.rows["none"]] == ["completed"] * len(fine)
    fickle = ended.row("fickle")
    assert (fickle["status"], fickle["try"]) == ("completed", 1)
    [note] = [event["content"][0]["text"] for event in fickle["events"] if event["kind"] == "note"]
    assert note.startswith(
        "try 1: nondeterminism: replay: call 0 of thread policy asked something else than was recorded"
    )
    status, kind, where, message = ended.failure("fickle twice")
    assert (status, kind, where) == ("failed", "environment", "replay") and "asked something else" in message
    assert ended.row("fickle twice")["try"] == 1, "the budget is one new try"
    assert ended.code == 0 and ended.summary["status"] == {"completed": 13, "failed": len(CHARGED) + 1}
    assert ended.summary["recovery"]["workers_lost"] >= 6


@pytest.mark.chaos
def test_threads_that_never_come_back_cost_nobody_else_anything(cluster: dict[str, str], tmp_path: Path) -> None:
    """A worker gives up 64 threads before it is replaced; what waits for one meanwhile goes on at the next."""
    faults = ["sleeps_in_a_thread", "thinks"] * 80
    limits = ["limits.tool_deadline_s=1", "fanout.workers=1", "fanout.concurrency=200"]
    ended = play(cluster, tmp_path, faults, *limits, of="Deadly")
    assert ended.code == 0 and ended.summary["status"] == {"completed": 80, "failed": 80}, ended.told
    assert {row["status"] for row in ended.rows["thinks"]} == {"completed"}
    assert {row["failure"]["kind"] for row in ended.rows["sleeps_in_a_thread"]} == {"environment"}
    assert ended.summary["recovery"]["workers_lost"] >= 1


@pytest.mark.runs
def test_a_spent_budget_of_failures_stops_the_run_and_says_so(cluster: dict[str, str], tmp_path: Path) -> None:
    """A share of all episodes; with a larger number the run is resumed, and ends well."""
    faults = [*["setup"] * 4, *["none"] * 36]
    overrides = ["limits.max_failed=0.09", "models.policy.delay_s=0.3", "fanout.concurrency=12", *JUDGED, *DOWN]
    ended = play(cluster, tmp_path, faults, *overrides)
    told = "4 episodes have failed, more than limits.max_failed allows (3); most often: environment in Faulty.setup (faulty.py:"
    assert ended.code == 1 and told in ended.told and ended.summary["failure"].startswith(told)
    assert ended.summary["interrupted"] and ended.summary["status"]["failed"] == 4 and ended.summary["episodes"] < 40
    run, environment = str(tmp_path / "runs" / "faults"), {**cluster, "PYTHONPATH": str(Path(__file__).parent)}
    more = ["limits.max_failed=4", "fanout.concurrency=100"]
    again = ray_gym("rollout", "--resume", run, *more, environment=environment)
    assert again.returncode == 0 and "completed 36, failed 4" in again.stdout, again.stdout + again.stderr
    assert load(run).episodes.num_rows == 40


@pytest.mark.runs
def test_a_run_in_which_all_has_failed_has_failed(cluster: dict[str, str], tmp_path: Path) -> None:
    ended = play(
        cluster,
        tmp_path,
        ["all fail"] * 2,
        "limits.max_failed=2",
        "limits.retries.user=0",
        "tasks.repeats=1",
        of="Compared",
    )
    assert ended.code == 1 and "every episode failed; see the failures above" in ended.told
    assert ended.summary["status"] == {"failed": 2} and ended.summary["failure"] is None


def test_a_generator_that_raises_is_wrong_input(cluster: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        CONFIG.format(environment="Faulty").replace("path: tasks.jsonl", "generate: 3")
    )
    environment = {**cluster, "PYTHONPATH": str(Path(__file__).parent)}
    output = f"output.dir={tmp_path / 'runs'}"
    done = ray_gym("rollout", str(tmp_path / "config.yaml"), output, *JUDGED, *DOWN, environment=environment)
    assert done.returncode == 2 and not (tmp_path / "runs").exists()
    assert "tasks.generate: the generator failed on task 0: RuntimeError: generate is broken" in done.stderr
    assert "Traceback" not in done.stderr


GROUP = ["tasks.repeats=4", "limits.retries.user=0"]


@pytest.mark.runs
def test_groups_are_scored_and_settled(cluster: dict[str, str], tmp_path: Path) -> None:
    """Four episodes a group; `minimum` is three."""
    faults = ["score_group", "score_group counts wrong", "score_group hangs", "score_group exits"]
    ended = play(
        cluster,
        tmp_path,
        ["none", *faults, "one fails", "two fail", "all fail"],
        *GROUP,
        "groups.minimum=3",
        of="Compared",
    )
    assert ended.code == 0, ended.told
    assert all(len(names) == 1 for names in ended.files.values()) and len(ended.files) == 8
    for fault in ("none", "one fails"):
        scores = [row["reward"] for row in ended.rows[fault] if row["status"] == "completed"]
        assert len(set(scores)) == len(scores) >= 3 and abs(sum(scores)) < 1e-9, "compared with each other"
    messages = ["RuntimeError: score_group is broken", "ValueError: score_group() returned 1 scores for 4 episodes"]
    messages += ["TimeoutError: no result within score_deadline_s (2 s)", "its worker died while"]
    for fault, message in zip(faults, messages, strict=True):
        for row in ended.rows[fault]:
            assert (row["status"], row["reward"], row["failure"]["kind"]) == ("failed", None, "environment"), row
            assert row["failure"]["message"].startswith(message), row["failure"]
    assert [row["status"] for row in ended.rows["one fails"]] == ["failed", *["completed"] * 3]
    assert [row["status"] for row in ended.rows["two fail"]] == ["failed", "failed", "dropped", "dropped"]
    assert [row["status"] for row in ended.rows["all fail"]] == ["failed"] * 4
    for row in ended.rows["two fail"][2:]:
        assert row["failure"] == {
            "kind": "user", "where": "group", "message": "2 of 4 episodes failed, the first in user: it went away"
        }  # fmt: skip
        assert (row["group_size"], row["group_completed"]) == (4, 2)
    assert ended.summary["status"] == {"completed": 7, "failed": 23, "dropped": 2}
    assert abs(ended.summary["mean_reward"]) < 1e-9, "of those that were not dropped"


@pytest.mark.runs
def test_a_run_whose_every_episode_fails_stops_early(cluster: dict[str, str], tmp_path: Path) -> None:
    ended = play(cluster, tmp_path, ["setup"] * 200, "fanout.concurrency=4", of="Deadly")
    assert ended.code == 1 and ended.summary["status"].keys() == {"failed"} and ended.summary["episodes"] < 200
    assert "failed by the environment's own code, the last or most often: environment in Deadly.setup" in ended.told


@pytest.mark.runs
def test_bad_tasks_that_end_before_good_ones_stop_no_run(cluster: dict[str, str], tmp_path: Path) -> None:
    ended = play(cluster, tmp_path, ["setup", "none", "none", "none"] * 25, "models.policy.delay_s=1", of="Deadly")
    assert ended.code == 0 and ended.summary["status"] == {"completed": 75, "failed": 25}, ended.told


@pytest.mark.runs
def test_a_task_that_blocks_beside_others_stops_no_run(cluster: dict[str, str], tmp_path: Path) -> None:
    """Each of them ends the others there with it before any comes through."""
    faults, limits = [*["blocks", *["none"] * 7] * 4], ["limits.tool_deadline_s=30", "limits.call_deadline_s=20"]
    ended = play(cluster, tmp_path, faults, *limits, "models.policy.delay_s=0.5", of="Deadly")
    assert ended.code == 0 and ended.summary["status"] == {"completed": 28, "failed": 4}, ended.told


@pytest.mark.runs
def test_a_run_whose_every_episode_blocks_stops_early_and_says_what_to_do(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    ended = play(
        cluster, tmp_path, ["blocks"] * 12, "limits.tool_deadline_s=30", "limits.call_deadline_s=20", of="Deadly"
    )
    assert ended.code == 1 and ended.summary["episodes"] < 12
    told = r"all of the first [34] tries failed by the environment's own code, the last or most often: the event"
    assert re.search(told, ended.told), "the first three, and perhaps another that blocked before them"
    lost = [line for line in ended.told.splitlines() if "warning: worker" in line and "is lost: " in line]
    assert lost and "in tool blocks (faulty.py:" in lost[0] and "declare it with @tool(blocking=True)" in lost[0]
    assert "(raylet)" not in ended.told, "Ray's guesses are left out"
