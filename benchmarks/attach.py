"""How long a run that attaches to a model takes to its first step: `python -m benchmarks.attach`.

A first driver brings the small model up under vLLM on CPU. Then `ray-gym rollout` is started, as a process of its own, several times over,
with `models.small.app`: seconds count from its start to its first model call, as its rows have it.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
import yaml

from benchmarks.measure import machine
from benchmarks.orchestration import table
from deployments.vllm import VllmEngine
from deployments.vllm.options import VllmOptions
from ray_gym.load import load
from ray_gym.models.base import EngineCheck
from ray_gym.run.cluster import connected

REPOSITORY = Path(__file__).resolve().parents[1]
CONFIG = REPOSITORY / "configs" / "tic_tac_toe.yaml"
BOUND_S = 3.0
IMPORTS = "import ray_gym.cli.main, ray_gym.run.submit, deployments.vllm, envs.tic_tac_toe"


@dataclass(frozen=True, slots=True)
class Attached:
    """Seconds since the process was started."""

    imported: float
    """Of another process that does only that."""
    joined: float
    """The config is checked, and the cluster joined."""
    attached: float
    first_step: float

    def parts(self) -> dict[str, object]:
        return {
            "import": self.imported,
            "plan, ray.init, checks": self.joined - self.imported,
            "attach": self.attached - self.joined,
            "workers' start": self.first_step - self.attached,
            "first step after": self.first_step,
        }


@contextmanager
def small_model() -> Iterator[str]:
    """The Serve application of a first run, on a cluster of this process."""
    section = yaml.safe_load(CONFIG.read_text())["models"]["small"]
    del section["engine"]
    engine = VllmEngine(VllmOptions(**section))
    engine.check(EngineCheck("small", {}, uses_tools=True))
    os.environ["RAY_ADDRESS"] = "local"
    with connected():
        try:
            engine.start("first", "small", lambda text: print(text, flush=True))
            yield engine.app
        finally:
            engine.stop()


def attach(app: str, output: Path, cluster: Mapping[str, str]) -> Attached:
    """`cluster` is the environment that reaches it. Errors: CalledProcessError."""
    config = _config(app, output)
    environment = {**cluster, "PYTHONUNBUFFERED": "1"}
    imports = _seconds([sys.executable, "-c", IMPORTS], environment)
    command = [sys.executable, "-m", "ray_gym", "rollout", str(config)]
    began, told = time.time(), {}
    run = subprocess.Popen(command, env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    for line in run.stdout:
        for event, words in (("joined", f"run {output}"), ("attached", "model small: attached")):
            if line.startswith(words):
                told[event] = time.time() - began
    if run.wait():
        raise subprocess.CalledProcessError(run.returncode, command)
    (directory,) = output.glob("attach-*")
    rows = load(directory).episodes.to_pylist()
    first = min(event["started_at"] for row in rows for event in row["events"] if event["model"] == "small")
    return Attached(imports, told["joined"], told["attached"], first - began)


def _config(app: str, output: Path) -> Path:
    config: dict[str, Any] = yaml.safe_load(CONFIG.read_text())
    config["run"] = {"name": f"attach-{time.time_ns()}"}
    config["tasks"] = {"generate": 2, "repeats": 1}
    config["models"] = {
        "small": {"engine": "vllm", "app": app},
        "random": {"engine": "scripted", "player": "envs.tic_tac_toe.players:random_player"},
    }
    config["participants"]["user"] = {"model": "random"}
    config["output"] = {"dir": str(output)}
    path = output / "attach.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def _seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    began = time.monotonic()
    subprocess.run(command, env=environment, cwd=REPOSITORY, check=True)
    return time.monotonic() - began


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    words = sys.argv[1:] if arguments is None else arguments
    print(f"machine: {', '.join(f'{name} {value}' for name, value in machine().items())}")
    print(f"command: {shlex.join(['python', '-m', 'benchmarks.attach', *words])}\n", flush=True)
    runs = []
    with small_model() as app:
        reach = {**os.environ, "RAY_ADDRESS": str(ray.get_runtime_context().gcs_address)}
        for _ in range(given.rounds):
            with tempfile.TemporaryDirectory(prefix="ray_gym_attach_") as output:
                runs.append(attach(app, Path(output), reach))
            load_of_machine = os.getloadavg()[0]
            print(
                f"first step after {runs[-1].first_step:.2f} s (load of the machine {load_of_machine:.1f})", flush=True
            )
    print(table([run.parts() for run in runs]))
    best = min(run.first_step for run in runs)
    print(f"\nthe quickest: {best:.2f} s (bound {given.bound:g} s)")
    return 0 if best <= given.bound else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attach", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bound", type=float, default=BOUND_S, help="seconds, on a quiet machine (default 3)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
