"""Saves the stream's cursor for each step of prime-rl's trainer, and opens a stream where one of its checkpoints left it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from ray_gym.deployments.chat.checkpoint import resolve_model
from ray_gym.errors import UserError

OURS = "ray_gym"
"""Name of the bridge's folder in prime-rl's run directory."""
WEIGHTS = ("*.safetensors", "*.safetensors.index.json", "*.bin", "*.bin.index.json", "*.pt", "*.pth")


def save_cursor(folder: Path, step: int, cursor: Any) -> None:
    """Writes the cursor that a stream has once a step is trained on."""
    place = _cursor_of(folder, step)
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = place.with_suffix(".new")
    scratch.write_text(json.dumps(cursor), "utf-8")
    scratch.rename(place)


def opening(
    folder: str | Path, step: int | None, checkpoint: str | Path, model: str = "policy"
) -> tuple[list[str], Any]:
    """Returns the overrides and the cursor with which `open_stream` continues after a step of prime-rl's trainer.

    The overrides have the model begin with that step's weights. As `broadcasts/step_N` holds nothing else, what a model
    needs beside them is taken from `checkpoint`, the folder that the trainer began with. `step`: that of the checkpoint
    from which the trainer resumes (None: a new training); prime-rl keeps the weights of those in `broadcasts`. Errors:
    UserError if cursor or weights of that step, or the folder, are not there.
    """
    if step is None:
        return [], None
    place, weights = _cursor_of(Path(folder), step), Path(folder) / "broadcasts" / f"step_{step}"
    try:
        cursor = json.loads(place.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{place}: no cursor can be read ({error}); resume from another step, or start anew") from None
    if not (weights / "STABLE").exists():
        raise UserError(f"{weights}: it has no STABLE, so the weights are not whole; resume from another step")
    begun = Path(resolve_model(str(checkpoint)))
    if not begun.is_dir():
        raise UserError(
            f"{checkpoint}: there is no such folder; fetch the model that the trainer began with, and name its"
        )
    made = Path(folder).absolute() / OURS / "model"
    shutil.rmtree(made, ignore_errors=True)
    shutil.copytree(begun, made, ignore=shutil.ignore_patterns(*WEIGHTS))
    shutil.copytree(weights, made, dirs_exist_ok=True)
    return [f"models.{model}.model={made}", f"models.{model}.weights_version={step}"], cursor


def _cursor_of(folder: Path, step: int) -> Path:
    return folder / OURS / f"cursor_{step}.json"
