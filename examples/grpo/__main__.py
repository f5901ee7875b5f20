"""Implements `python -m examples.grpo TASK [KEY=VALUE ...]`: warm-up, training and report of a task of the example."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import yaml
from transformers.utils import logging

from examples.grpo import curves
from examples.grpo.checks import CheckFailed
from examples.grpo.evaluation import FOLDER, compare, episodes_of
from examples.grpo.outcomes import outcomes_of
from examples.grpo.sabotage import Sabotage
from examples.grpo.settings import Settings, read_settings, settings_file
from examples.grpo.trainer import Trainer
from examples.grpo.warmup import make_start_model
from ray_gym.errors import RunFailed, UserError

FREE_TO_CHANGE = ("steps", "threads", "tokens_per_pass", "evaluate_every")
"""Settings with which a training that has begun may go on."""


def main() -> int:
    """Runs the command, and returns its exit code: 0 done, 1 a check or the run failed, 2 wrong input."""
    words = parser().parse_args()
    logging.disable_progress_bar()
    try:
        file = settings_file(words.task)
        run(file, read_settings(file, words.settings), words.out, words.sabotage)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except (CheckFailed, RunFailed) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """Makes the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m examples.grpo", description=__doc__)
    made.add_argument("task", help="guess, tic_tac_toe, or a file of settings")
    made.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="settings that go before the file's")
    made.add_argument("--out", type=Path, help="folder of the training (default: runs/grpo/TASK-SEED)")
    made.add_argument("--sabotage", type=Sabotage, choices=list(Sabotage), help="break one thing on purpose")
    return made


def run(file: Path, settings: Settings, out: Path | None, sabotage: Sabotage | None) -> None:
    """Makes the start model, trains, and reports. Done again with the same folder, it continues.

    Errors: UserError, RunFailed, CheckFailed.
    """
    began = time.monotonic()
    name = f"{file.parent.name}-{settings.seed}" + (f"-{sabotage}" if sabotage else "")
    folder = (out or Path("runs/grpo") / name).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    check_same(settings, sabotage, folder / "settings.json")
    temperature = temperature_of(settings.rollouts)  # before the warm-up, as it may be wrong
    start = make_start_model(settings, folder / "warmup")
    trainer = Trainer(settings, folder, temperature, sabotage)
    history = trainer.train(start)
    report(folder, history, time.monotonic() - began)


def check_same(settings: Settings, sabotage: Sabotage | None, kept: Path) -> None:
    """Keeps the settings of a new training, or compares them with those that it began with. Errors: UserError."""
    given = {**settings.model_dump(mode="json", exclude=set(FREE_TO_CHANGE)), "sabotage": sabotage}
    if not kept.exists():
        kept.write_text(json.dumps(given, indent=2))
        return
    before = json.loads(kept.read_text())
    if differing := [key for key in given if json.loads(json.dumps(given[key])) != before.get(key)]:
        raise UserError(
            f"{kept.parent}: it was begun with another {differing[0]}: {before.get(differing[0])}, not "
            f"{given[differing[0]]}; take another folder (--out), or delete that one"
        )


def temperature_of(rollouts: Path) -> float:
    """Returns the temperature at which a config has the policy sampled. Errors: UserError if it does not say so."""
    try:
        sampling = yaml.safe_load(rollouts.read_text())["participants"]["policy"]["sampling"]
        return float(sampling["temperature"])
    except (OSError, KeyError, TypeError) as error:
        raise UserError(f"{rollouts}: participants.policy.sampling.temperature: it has to be given ({error})") from None


def report(folder: Path, history: list[dict[str, object]], seconds: float) -> None:
    """Prints what training has changed on the held-out tasks, draws the curves, and writes `report.json`."""
    found = sorted(int(path.name.removeprefix("step-")) for path in (folder / FOLDER).glob("step-*"))
    evaluations = {step: outcomes_of(episodes_of(folder, step)).reward for step in found}
    compared = compare(episodes_of(folder, found[0]), episodes_of(folder, found[-1]))
    picture = curves.draw(history, evaluations, folder) if history else None
    told = {"steps": len(history), "seconds_of_this_process": seconds, "evaluations": evaluations}
    (folder / "report.json").write_text(json.dumps({**told, **compared.as_json()}, indent=2))
    print(f"{compared.as_text()}\n{len(history)} steps, {seconds:.0f} s in this process; {folder}")
    if picture is None:
        print("no curves.png: matplotlib is not installed (pip install 'ray-gym[train]')")


if __name__ == "__main__":
    sys.exit(main())
