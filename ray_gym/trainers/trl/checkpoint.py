"""Saves the stream's cursor in the checkpoints of TRL's trainers, and opens a stream where a checkpoint left it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from ray_gym.errors import UserError
from ray_gym.paths import home_expanded
from ray_gym.stream import BlockingStream

CURSOR = "ray_gym_cursor.json"
"""Name of the file in the folder of a checkpoint."""


class SaveCursor(TrainerCallback):  # type: ignore[misc]  # mypy does not follow imports of transformers
    """Writes the cursor into each checkpoint, once the trainer has saved it, with the version of its weights."""

    def __init__(self, stream: BlockingStream, version_at: Callable[[int], int]) -> None:
        """Takes the stream, and a function that returns the version of the weights after a step."""
        self._stream = stream
        self._version_at = version_at

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            folder = Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
            scratch = folder / f"{CURSOR}.new"
            saved = {"cursor": self._stream.cursor, "version": self._version_at(state.global_step)}
            scratch.write_text(json.dumps(saved), "utf-8")
            scratch.rename(folder / CURSOR)


def opening(checkpoint: str | Path | None, model: str = "policy") -> tuple[list[str], Any]:
    """Returns the overrides and the cursor with which `open_stream` continues from a trainer's checkpoint.

    The overrides have the model begin with the checkpoint's weights, under their version. `checkpoint`: its folder;
    None gives those of a new training. Errors: UserError if the folder has no cursor.
    """
    if checkpoint is None:
        return [], None
    folder = home_expanded(checkpoint).absolute()
    try:
        saved = json.loads((folder / CURSOR).read_text("utf-8"))
        cursor, version = saved["cursor"], int(saved["version"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder}: it has no readable {CURSOR} ({error}), so no stream can continue from it; take an earlier "
            "checkpoint, or start anew without one"
        ) from None
    return [f"models.{model}.model={folder}", f"models.{model}.weights_version={version}"], cursor
