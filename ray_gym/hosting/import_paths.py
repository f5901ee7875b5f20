"""What other processes need on their path to import what this one can."""

from __future__ import annotations

import os
from pathlib import Path


def import_paths() -> list[str]:
    """The working directory, this package's parent, and PYTHONPATH. All absolute, for workers have another working directory."""
    here = Path(__file__).resolve().parents[2]
    inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return list(dict.fromkeys(str(Path(path).absolute()) for path in [str(Path.cwd()), str(here), *inherited]))


def as_variable() -> dict[str, str]:
    """The same, for the environment of a process."""
    return {"PYTHONPATH": os.pathsep.join(import_paths())}
