"""Says on stderr, the first time, that something of the episodes is not trained on."""

from __future__ import annotations

import sys
from collections import Counter

LEFT_OUT = {
    "failed": "episodes failed, and train nothing",
    "silent": "completed episodes have no trainable token",
    "too_long": "samples are longer than the trainer takes, and are left out whole",
    "forked": "episodes have forks, of which one sample each is trained on",
    "stale": "samples are too old for the trainer's max_staleness, and are left out",
    "barren": "groups have nothing to train on",
}
"""Counts of what is left out, and what a line says of each."""


def say(totals: Counter[str], counts: Counter[str]) -> None:
    """Adds counts to the totals, and prints a line for each kind of loss that is new."""
    for name, text in LEFT_OUT.items():
        if counts[name] and not totals[name]:
            print(f"ray_gym: {counts[name]} {text}; the log counts them as {name}", file=sys.stderr, flush=True)
    totals.update(counts)
