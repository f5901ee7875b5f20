"""Saves and loads checkpoints: a folder of weights that the engine loads too, and all that the trainer continues from.

Each is written under another name and renamed when it is complete and on the disk, so a crash leaves the one before.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from examples.grpo.lora import save_policy

PREFIX = "step-"


@dataclass(slots=True)
class State:
    """Holds where a training is, apart from tensors."""

    step: int = 0
    """Number of the optimiser steps that are in the weights, which is their version."""
    cursor: dict[str, Any] | None = None
    """The stream's cursor, at which the groups of all those steps are acknowledged."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """Measured values of each step, one row a step."""


def folder_of(checkpoints: Path, step: int) -> Path:
    """Returns the folder of the checkpoint of a step."""
    return checkpoints / f"{PREFIX}{step:06d}"


def newest(checkpoints: Path) -> Path | None:
    """Returns the folder of the newest checkpoint that is complete; None without any."""
    found = sorted(path for path in checkpoints.glob(f"{PREFIX}*") if path.suffix != ".new")
    return found[-1] if found else None


def save(checkpoints: Path, model: Any, tokenizer: Any, optimizer: torch.optim.Optimizer, state: State) -> Path:
    """Saves a checkpoint and returns its folder. A complete one of the same step stays as it is. Errors: OSError."""
    folder = folder_of(checkpoints, state.step)
    if folder.exists():
        return folder
    scratch = folder.with_suffix(".new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    save_policy(model, scratch)
    tokenizer.save_pretrained(scratch)
    (scratch / "state.json").write_text(json.dumps(asdict(state)))
    random_states = {"torch": torch.get_rng_state(), "numpy": np.random.get_state()}
    torch.save({"optimizer": optimizer.state_dict(), "random": random_states}, scratch / "trainer.pt")
    for path in (*scratch.iterdir(), scratch):
        _flush(path)
    scratch.rename(folder)
    _flush(checkpoints)
    return folder


def load_state(folder: Path) -> State:
    """Reads the state of a checkpoint. Errors: OSError, ValueError."""
    return State(**json.loads((folder / "state.json").read_text()))


def load_trainer(folder: Path, optimizer: torch.optim.Optimizer) -> None:
    """Loads the optimizer and the states of random generators. Errors: OSError."""
    saved = torch.load(folder / "trainer.pt", weights_only=False)
    optimizer.load_state_dict(saved["optimizer"])
    torch.set_rng_state(saved["random"]["torch"])
    np.random.set_state(saved["random"]["numpy"])


def prune(checkpoints: Path, keep: int, also: Collection[Path]) -> None:
    """Deletes all checkpoints but the newest `keep` and those of `also`: the start, and what the engine began with."""
    found = sorted(path for path in checkpoints.glob(f"{PREFIX}*") if path.suffix != ".new")
    for path in found[:-keep]:
        if path not in also:
            shutil.rmtree(path)


def _flush(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
