"""Saves the stream's cursor in verl's checkpoints, and opens a stream where a checkpoint left it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ray_gym.errors import UserError

CURSOR = "ray_gym_cursor.json"
"""Name of the file in the folder of a checkpoint."""
WEIGHTS = Path("actor", "huggingface")
"""Folder of verl's checkpoint with the weights that the stream's model can read."""


def save_cursor(folder: Path, cursor: dict[str, Any]) -> None:
    """Writes the cursor into the folder of a checkpoint, which is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder / f"{CURSOR}.new"
    scratch.write_text(json.dumps(cursor), "utf-8")
    scratch.rename(folder / CURSOR)


def opening(folder: Path | None, model: str, version: int) -> tuple[list[str], Any]:
    """Returns the overrides and the cursor with which `open_stream` continues from a checkpoint of verl's.

    `folder`: absolute path of the checkpoint; None starts anew. `model`: name of the model that begins with its weights,
    under `version`. Errors: UserError if the folder lacks the cursor or the weights.
    """
    if folder is None:
        return [], None
    try:
        cursor = json.loads((folder / CURSOR).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{folder}: it has no readable {CURSOR} ({error}), so no stream can continue from it; resume from a "
            "checkpoint of this bridge, or start anew with trainer.resume_mode=disable"
        ) from None
    weights = folder / WEIGHTS
    if not any(weights.glob("*.safetensors")):
        raise UserError(
            f"{weights}: it has no weights, with which the stream's model has to begin; checkpoints have them with "
            "hf_model in actor_rollout_ref.actor.checkpoint.save_contents"
        )
    return [f"models.{model}.model={weights}", f"models.{model}.weights_version={version}"], cursor
