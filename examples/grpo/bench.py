"""Measures how full trainer and engine are at each bound on staleness: `python -m examples.grpo.bench TASK`.

All settings begin with the same warmed-up model, and take turns: one run of each, then the next of each. A run ends when
the policy has come to a reward. Done again, the command continues: what is finished is kept, what was interrupted begins
anew. Staleness 0 is synchronous: engine and trainer never work at the same time.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from examples.grpo.curves import TABLE
from examples.grpo.outcomes import steps_to
from examples.grpo.settings import read_settings, settings_file
from examples.grpo.warmup import make_start_model
from ray_gym.errors import UserError

DONE = "report.json"
"""File of a training that is finished."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Holds the figures of one run, up to the step at which it had come to the reward. Shares leave the first step out."""

    steps: int | None
    """Number of optimiser steps to the reward; None if it did not come to it. `seconds` is likewise of the wall clock."""
    seconds: float | None
    step_s: float
    """Mean seconds of a step, with the update of the weights."""
    learns: float
    """Share of the time in which the trainer learns."""
    waits: float
    """Share of the time in which the trainer waits for groups. The rest saves and updates."""
    engine_idle: float
    """Share of the steps' time in which no episode is played."""
    staleness: float
    """Mean number of versions that a trained token was old."""


def figures_of(history: Sequence[dict[str, Any]], reward: float) -> Figures:
    """Returns the figures of a run. `history`: rows of its curves, at least two. Errors: ValueError for fewer."""
    steps = steps_to(reward, history)
    rows = history[1 : steps or len(history)]
    if not rows:
        raise ValueError("a run of fewer than two steps has no figures")
    whole = rows[-1]["at_s"] - history[0]["at_s"]
    seen = [row for row in rows if row["engine_waits"] == row["engine_waits"]]  # NaN: nobody looked in so short a step
    lengths = [row["wait_s"] + row["learn_s"] for row in seen]
    idle = sum(row["engine_waits"] * length for row, length in zip(seen, lengths, strict=True))
    return Figures(
        steps=steps,
        seconds=history[steps - 1]["at_s"] if steps else None,
        step_s=whole / len(rows),
        learns=sum(row["learn_s"] for row in rows) / whole,
        waits=sum(row["wait_s"] for row in rows) / whole,
        engine_idle=idle / sum(lengths) if lengths else float("nan"),
        staleness=sum(row["staleness"] for row in rows) / len(rows),
    )


def table(runs: dict[int, list[Figures]]) -> str:
    """Returns a Markdown table with a line for each bound: medians, with the smallest and largest in brackets."""
    heads = ["staleness", "runs", "came to it", "steps", "seconds", "seconds a step"]
    heads += ["trainer learns", "trainer waits", "engine idle", "versions old"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for bound, found in runs.items():
        reached = [one for one in found if one.steps is not None]
        times = [spread([one.steps for one in reached], 0), spread([one.seconds for one in reached], 0)]
        shares = [
            spread([100 * getattr(one, name) for one in found], 0, "%") for name in ("learns", "waits", "engine_idle")
        ]
        rest = [spread([one.step_s for one in found], 1), *shares, spread([one.staleness for one in found], 2)]
        name = "0, synchronous" if bound == 0 else str(bound)
        lines.append(f"| {' | '.join([name, str(len(found)), str(len(reached)), *times, *rest])} |")
    return "\n".join(lines)


def spread(values: Sequence[float | None], digits: int, unit: str = "") -> str:
    """Returns the median of values, and the smallest and largest if there are several; a dash without any."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return "-"
    ends = f" ({known[0]:.{digits}f} to {known[-1]:.{digits}f})" if len(known) > 1 else ""
    return f"{statistics.median(known):.{digits}f}{unit}{ends}"


def train_all(given: argparse.Namespace) -> None:
    """Makes the runs that are missing, in turns, until all are there or the time is over. Errors: UserError if one fails."""
    began = time.monotonic()
    settings = read_settings(settings_file(given.task), given.settings)
    start = make_start_model(settings, given.out / "warmup")
    for number in range(given.runs):
        turn = given.staleness if number % 2 == 0 else given.staleness[::-1]
        for bound in turn:
            folder = folder_of(given.out, bound, number)
            if (folder / DONE).exists():
                continue
            if given.minutes is not None and time.monotonic() - began > 60 * given.minutes:
                print("the time is over; the same command continues", file=sys.stderr)
                return
            shutil.rmtree(folder, ignore_errors=True)
            print(f"run {number + 1} of {given.runs}, staleness {bound}", file=sys.stderr, flush=True)
            own = [f"model={start}", f"max_staleness={bound}", f"until_reward={given.reward}", f"seed={number}"]
            few = [f"evaluate_every={settings.steps + 1}", "evaluation.episodes=2"]
            words = [given.task, *given.settings, *own, *few, "--out", str(folder)]
            if subprocess.run([sys.executable, "-m", "examples.grpo", *words], check=False).returncode != 0:
                raise UserError(f"{folder}: the training failed, see above")


def folder_of(out: Path, bound: int, number: int) -> Path:
    """Returns the folder of a run."""
    return out / f"staleness-{bound}-run-{number}"


def finished(given: argparse.Namespace) -> dict[int, list[Figures]]:
    """Returns the figures of all finished runs, by their bound on staleness."""
    found: dict[int, list[Figures]] = {}
    for bound in given.staleness:
        folders = [folder_of(given.out, bound, number) for number in range(given.runs)]
        done = [folder for folder in folders if (folder / DONE).exists()]
        found[bound] = [figures_of(pq.read_table(folder / TABLE).to_pylist(), given.reward) for folder in done]
    return {bound: runs for bound, runs in found.items() if runs}


def main() -> int:
    """Runs the command, and returns its exit code: 0 done or out of time, 2 wrong input or a run that failed."""
    given = parser().parse_args()
    given.out = (given.out or Path("runs/grpo") / f"bench-{given.task}").absolute()
    try:
        train_all(given)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        print(table(finished(given)), flush=True)
    return 0


def parser() -> argparse.ArgumentParser:
    """Makes the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m examples.grpo.bench", description=__doc__)
    made.add_argument("task", help="guess, tic_tac_toe, or a file of settings")
    made.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="settings that go before the file's")
    made.add_argument("--staleness", type=int, nargs="+", default=[0, 1, 2, 4], help="bounds (default: 0 1 2 4)")
    made.add_argument("--runs", type=int, default=3, help="runs of each bound, with seeds from 0 (default 3)")
    reward = "mean reward of five batches at which a run ends (default 0.7)"
    made.add_argument("--reward", type=float, default=0.7, help=reward)
    made.add_argument("--minutes", type=float, help="begin no further run after so many (default: no limit)")
    made.add_argument("--out", type=Path, help="folder of the runs (default: runs/grpo/bench-TASK)")
    return made


if __name__ == "__main__":
    sys.exit(main())
