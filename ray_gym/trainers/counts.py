"""Counts what became of the episodes of groups on the way to a trainer, and says once what is left out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence

from ray_gym.printable import printable
from ray_gym.stream import Group
from ray_gym.trainers.rows import Row

LEFT_OUT = {
    "failed": "episodes failed, and train nothing",
    "too_long": "samples are longer than the trainer takes, and are left out whole",
    "forked": "episodes have forks, of which one sample each is trained on",
    "stale": "samples are too old for the trainer's max_staleness, and are left out",
    "silent": "completed episodes have no trainable token",
    "barren": "groups have nothing to train on",
}
"""Counts of what is left out, and what a line says of each."""


def counts_of(groups: Sequence[Group], rows: Sequence[Row], too_long: int = 0) -> Counter[str]:
    """Returns the numbers of `groups` and of their `episodes`, of `failed` ones, of `rows` and of `forks` among them, of
    generated `tokens`, of `barren` groups, which have no row, and of rows that were left out as `too_long`.
    """
    statuses = [status for group in groups for status in group.episodes.column("status").to_pylist()]
    having = {row.group for row in rows}
    return Counter(
        groups=len(groups),
        episodes=len(statuses),
        failed=sum(status != "completed" for status in statuses),
        rows=len(rows),
        forks=sum(row.fork > 0 for row in rows),
        tokens=sum(row.generated for row in rows),
        too_long=too_long,
        barren=sum(group.number not in having for group in groups),
    )


def add_and_say(
    totals: Counter[str], counts: Counter[str], left_out: Mapping[str, str] = LEFT_OUT, prefix: str = ""
) -> None:
    """Adds counts to the totals, and prints a line on stderr for each kind of loss that is new.

    `left_out`: the losses by the names of their counts, and what is said of each. `prefix`: beginning of their names in
    the trainer's log.
    """
    for name, text in left_out.items():
        if counts[name] and not totals[name]:
            print(
                printable(f"ray_gym: {counts[name]} {text}; the log counts them as {prefix}{name}"),
                file=sys.stderr,
                flush=True,
            )
    totals.update(counts)
