"""Prints the episodes of a run as they are committed, until the run has ended."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console

from ray_gym.cli.show import line_of, print_damages
from ray_gym.record.bounds import Bound
from ray_gym.run.directory.intact import intact_batches
from ray_gym.run.directory.storage import Storage

LOOK_S = 1.0
"""Seconds between two looks for new files."""
COLUMNS = ["episode_id", "task_id", "repeat", "status", "stop_reason", "stop_text", "turns", "reward", "failure"]
ROWS = 512
"""Most rows that are read at once."""
EARLIER = 10
"""Number of the episodes that are shown of those that were committed before."""


def follow_run(
    console: Console,
    storage: Storage,
    *,
    failed: bool = False,
    reward: Bound | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Prints the last episodes of a run, a line each, and then every new one until no driver writes the run.

    `failed`: only episodes that failed. `reward`: only episodes whose reward is within the bound. `wait`: waits so many
    seconds. Errors: OSError; UserError if the folder can't be read.
    """

    def is_chosen(row: dict[str, Any]) -> bool:
        return (not failed or row["status"] == "failed") and (reward is None or reward.allows(row["reward"]))

    seen = set[str]()
    earlier = filter(is_chosen, _new_rows(console, storage, seen))
    for row in deque(earlier, maxlen=EARLIER):
        _print(console, row)
    while True:
        is_live = storage.is_owned()  # before the look: what was committed until then is seen
        for row in filter(is_chosen, _new_rows(console, storage, seen)):
            _print(console, row)
        if not is_live:
            break
        wait(LOOK_S)
    console.print("the run is not being played (any more)", highlight=False)


def _print(console: Console, row: dict[str, Any]) -> None:
    console.print(line_of(row), highlight=False, soft_wrap=True)


def _new_rows(console: Console, storage: Storage, seen: set[str]) -> Iterator[dict[str, Any]]:
    """Yields the rows of files that are not in `seen`, and adds these to it. A damaged file is named once."""
    for name in storage.committed():
        if name in seen:
            continue
        seen.add(name)
        damages: list[str] = []
        for batch in intact_batches(storage, name, COLUMNS, ROWS, damages):
            yield from batch.to_pylist()
        print_damages(console, damages)
