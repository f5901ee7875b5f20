"""Measures how long `ray-gym rollout` takes from its start to its first step: `python -m benchmarks.start`.

The command is started as a shell starts it, in a process of its own each time: without a cluster, with one that is up,
and attached to a model that is up there (the small one, under vLLM on CPU). Seconds count from the command's start to
`started_at` of the first model call in its rows.
"""

from __future__ import annotations

import argparse
import compileall
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import ray
import yaml

from benchmarks.command import add_json, begin, positive
from benchmarks.measure import Watch
from benchmarks.rollout import serve_engine
from benchmarks.table import table
from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.errors import RunFailed, UserError
from ray_gym.load import load
from ray_gym.models.base import EngineCheck
from ray_gym.run.cluster.cluster import connect

REPOSITORY = Path(__file__).resolve().parents[1]
SCRIPTED = REPOSITORY / "configs" / "tic_tac_toe_scripted.yaml"
SMALL = REPOSITORY / "configs" / "tic_tac_toe.yaml"
BOUNDS_S = {"no cluster": 6.0, "cluster": 2.0, "attached": 3.0}
"""Bound on the median of each case, in seconds, on a machine that does nothing else."""
DEADLINE_S = 120.0
"""Seconds after which a command that has not ended is killed."""
LEGEND = """\
`joined` is when the config was checked and the cluster was there. CPU seconds are those until the first step: of the command's
own process, and of all processes of command and cluster together. `busy elsewhere` is the number of cores that other programs
kept busy meanwhile: where it is not near 0, only the CPU times say something."""

Config = dict[str, Any]
Environment = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Started:
    """Holds the measurements of one start of the command.

    `joined` and `first_step` are the seconds from its start until it had joined the cluster and began its first step.
    `own_cpu` and `all_cpu` are CPU seconds until that step, of the command's own process and of all processes.
    `cores_elsewhere` is the mean number of cores that other programs kept busy.
    """

    joined: float
    first_step: float
    own_cpu: float
    all_cpu: float
    cores_elsewhere: float


def scripted_config() -> Config:
    config: Config = yaml.safe_load(SCRIPTED.read_text())
    return {**config, "tasks": {"generate": 2, "repeats": 1}}


def attached_config(app: str) -> Config:
    """Makes the config of a run that attaches to the small model, which is the Serve application `app`.

    The user moves at random.
    """
    config: Config = yaml.safe_load(SMALL.read_text())
    config["tasks"] = {"generate": 2, "repeats": 1}
    config["models"] = {
        "small": {"engine": "vllm", "app": app},
        "random": {"engine": "scripted", "player": "ray_gym.envs.tic_tac_toe.players:random_player"},
    }
    config["participants"]["user"] = {"model": "random"}
    return config


def start(config: Config, environment: Environment, output: Path) -> Started:
    """Runs the command once in the folder `output`, and returns its measurements.

    `environment` holds its environment variables, which name the cluster if there is one. Errors: CalledProcessError if
    the command fails, or has not ended after DEADLINE_S seconds.
    """
    path = output / "start.yaml"
    path.write_text(yaml.safe_dump({**config, "run": {"name": "start"}, "output": {"dir": str(output)}}))
    command = [sys.executable, "-m", "ray_gym", "rollout", str(path)]
    joined = math.nan
    with Watch(os.getpid()) as watch:
        began = time.time()
        variables = {**environment, "PYTHONUNBUFFERED": "1"}
        run = subprocess.Popen(command, env=variables, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        assert run.stdout is not None
        too_late = threading.Timer(DEADLINE_S, run.kill)
        too_late.start()
        for line in run.stdout:
            if line.startswith(f"run {output}"):
                joined = time.time() - began
        too_late.cancel()
    if run.wait():
        raise subprocess.CalledProcessError(run.returncode, command)
    rows = load(output / "start").episodes.to_pylist()
    model = config["participants"]["policy"]["model"]
    first = min(event["started_at"] for row in rows for event in row["events"] if event["model"] == model)
    costs = {process.pid: trace.cpu_between(began, first) for process, trace in watch.traces.items()}
    del costs[os.getpid()]
    elsewhere = watch.cores_elsewhere(began, first)
    return Started(joined, first - began, costs.get(run.pid, 0.0), sum(costs.values()), elsewhere)


@contextmanager
def cluster() -> Iterator[Environment]:
    """Starts a cluster for the block, and yields environment variables that name it."""
    os.environ["RAY_ADDRESS"] = "local"
    with connect():
        yield {**os.environ, "RAY_ADDRESS": str(ray.get_runtime_context().gcs_address)}


@contextmanager
def small_model() -> Iterator[str]:
    """Serves the small model on the cluster of this process, as a first run would, and yields its application's name."""
    section = yaml.safe_load(SMALL.read_text())["models"]["small"]
    del section["engine"]
    check = EngineCheck("small", {}, uses_tools=True)
    with serve_engine(VllmEngine(VllmOptions(**section)), "first", check) as app:
        yield app


def compile_ours() -> None:
    """Compiles the project's modules to bytecode, as an installation does.

    Otherwise every process would compile them again if Python may not write bytecode.
    """
    for folder in ("ray_gym", "deployments", "envs"):  # links to the latter two are not followed
        compileall.compile_dir(REPOSITORY / folder, quiet=1)


def repeat(rounds: int, case: str, config: Config, environment: Environment) -> list[Started]:
    runs = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="ray_gym_start_") as output:
            runs.append(start(config, environment, Path(output)))
        last = runs[-1]
        print(f"{case}: first step after {last.first_step:.2f} s, {last.all_cpu:.2f} of CPU time", flush=True)
    return runs


def line(case: str, runs: Sequence[Started]) -> dict[str, object]:
    def middle(of: Callable[[Started], float]) -> float:
        return float(median(of(run) for run in runs))

    return {
        "case": case,
        "rounds": len(runs),
        "joined": middle(lambda run: run.joined),
        "first step": middle(lambda run: run.first_step),
        "worst": max(run.first_step for run in runs),
        "bound": BOUNDS_S[case],
        "own CPU s": middle(lambda run: run.own_cpu),
        "all CPU s": middle(lambda run: run.all_cpu),
        "busy elsewhere": middle(lambda run: run.cores_elsewhere),
    }


def measure(cases: Sequence[str], rounds: int) -> Iterator[tuple[str, list[Started]]]:
    """Plays the cases one after the other, and yields the name of each with its measurements.

    Errors: CalledProcessError if a command fails; UserError or RunFailed if the model can't be started.
    """
    if "no cluster" in cases:
        alone = {**os.environ, "RAY_ADDRESS": "local"}
        yield "no cluster", repeat(rounds, "no cluster", scripted_config(), alone)
    with ExitStack() as up:
        if {"cluster", "attached"} & set(cases):
            reach = up.enter_context(cluster())
        if "cluster" in cases:
            yield "cluster", repeat(rounds, "cluster", scripted_config(), reach)
        if "attached" in cases:
            config = attached_config(up.enter_context(small_model()))
            yield "attached", repeat(rounds, "attached", config, reach)


def main(arguments: Sequence[str] | None = None) -> int:
    given, heading = begin(_parser(), arguments)
    compile_ours()
    runs: dict[str, list[Started]] = {}
    failed = False
    try:
        for case, measured in measure(given.cases, given.rounds):
            runs[case] = measured
    except (subprocess.CalledProcessError, UserError, RunFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        failed = True
    lines = [line(case, measured) for case, measured in runs.items()]
    print(f"\n{table(lines)}\n\n{LEGEND}")
    heading.write(given.json, lines=lines)
    return int(
        failed or any(median(run.first_step for run in measured) > BOUNDS_S[case] for case, measured in runs.items())
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--rounds", type=positive, default=5, help="starts a case (default 5)")
    parser.add_argument("--cases", nargs="+", choices=BOUNDS_S, default=list(BOUNDS_S), help="(default: all)")
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
