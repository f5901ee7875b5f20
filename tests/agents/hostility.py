"""Plays rollouts whose policy is a program under bubblewrap, which does what the tasks say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conftest import ray_gym

from ray_gym.load import load

HERE = Path(__file__).parent
CONFIG = f"""\
environment: {{id: "rogues:Rogues"}}
tasks: {{path: tasks.jsonl}}
models: {{scripted: {{engine: scripted, player: "rogues:policy", arguments: {{calls: CALLS}}}}}}
participants: {{policy: {{model: scripted, agent: {{command: [python3, {HERE}/rogue.py], deadline_s: 60}}}}}}
sandbox: {{kind: bubblewrap, read_only: [{HERE}], limits: {{memory_mb: 300, processes: 200, disk_mb: 64}}}}
limits: {{max_turns: 1, max_steps_per_turn: 1000}}
run: {{name: rogues}}
"""
PATIENT = "participants.policy.agent.deadline_s=200"
"""Override for programs that end by themselves, however slow the machine is."""


def written(folder: Path, deeds: Sequence[str]) -> Path:
    """Writes a config with a task for each deed, and returns it."""
    tasks = [json.dumps({"task_id": f"{number}", "what": deed}) for number, deed in enumerate(deeds)]
    (folder / "tasks.jsonl").write_text("\n".join(tasks))
    config = CONFIG.replace("CALLS", str(folder / "calls"))
    (folder / "config.yaml").write_text(f"{config}output: {{dir: {folder}}}\n")
    return folder / "config.yaml"


def python_path(cluster: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment with which the environment of the tasks is found."""
    return {**cluster, "PYTHONPATH": str(HERE)}


@dataclass(frozen=True)
class Told:
    """Says what the record of one episode tells."""

    what: str
    status: str
    fault: tuple[str, str]
    """Kind and message of its failure; ("", "") without one."""
    answer: str
    notes: str
    reward: float | None

    @staticmethod
    def of(row: Mapping[str, Any]) -> Told:
        texts = [(event["kind"], "".join(part["text"] for part in event["content"] or ())) for event in row["events"]]
        failure = row["failure"] or {"kind": "", "message": ""}
        return Told(
            json.loads(row["task"])["what"],
            row["status"],
            (failure["kind"], failure["message"]),
            next((text for kind, text in reversed(texts) if kind == "message"), ""),
            "\n".join(text for kind, text in texts if kind == "note"),
            row["reward"],
        )


def play(cluster: Mapping[str, str], folder: Path, deeds: Sequence[str], *overrides: str) -> list[Told]:
    """Plays a rollout that must end well and lose no worker, and returns what its record tells."""
    done = ray_gym("rollout", str(written(folder, deeds)), *overrides, environment=python_path(cluster))
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr + done.stdout
    run = folder / "rogues"
    told = [Told.of(row) for row in load(str(run)).episodes.to_pylist()]
    assert len(told) == len(deeds)
    summary = json.loads((run / "summary.json").read_text())
    assert summary["recovery"]["workers_lost"] == 0, done.stderr
    return told


def calls(folder: Path) -> list[tuple[int, str]]:
    """Returns the worker and the words of all calls that the model was asked."""
    lines = (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []
    return [(int(pid), said) for pid, _, said in (line.partition(" ") for line in lines)]
