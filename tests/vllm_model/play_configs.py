"""Plays configs one after the other on a cluster, their small model attached to an application that is up. Prints a JSON line a config.

python play_configs.py APP OUTPUT CONFIG... -- [KEY=VALUE]...
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ray_gym.errors import RunFailed, UserError
from ray_gym.run.submit import submit


def main(app: str, output: str, given: Sequence[str]) -> None:
    split = given.index("--")
    console = Console(file=sys.stderr)
    for config in given[:split]:
        overrides = [f"models.small.app={app}", f"output.dir={output}", *given[split + 1 :]]
        try:
            submitted = submit(Path(config), [*overrides, f"run.name={Path(config).stem}"], console)
            line = {"config": config, "run": str(submitted.location), "status": submitted.summary["status"]}
        except (UserError, RunFailed) as error:
            line = {"config": config, "error": str(error)}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
