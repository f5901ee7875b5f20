"""Opens a run directory: `ray_gym.load(run_dir).episodes`, `.samples` and `.summary`.

The module imports nothing heavy until it is asked to: `import ray_gym` imports it, for it has the name of its function.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ray_gym.run.directory.reading import Run


def load(run: str | Path) -> Run:
    """Opens a run, of which nothing is read yet. `run` is a path or a URI (s3://...). Errors: UserError if it is no run
    directory, or can't be read.
    """
    from ray_gym.run.directory.reading import open_run

    return open_run(run)
