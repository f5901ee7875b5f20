"""Says on stderr, the first time, that something of the episodes is not trained on."""

from __future__ import annotations

import sys
from collections import Counter

LEFT_OUT = {
    "failed": "episodes failed, and train nothing",
    "silent": "completed episodes have no trainable token, and count in the baseline only",
    "too_long": "samples are longer than data.max_prompt_length and data.max_response_length together, and left out whole",
    "alone": "samples are left out: no other episode of their group has a reward",
}
"""Counts of what is left out, and what a line says of each."""


def say(totals: Counter[str], counts: Counter[str]) -> None:
    """Adds counts to the totals, and prints a line for each kind of loss that is new."""
    for name, text in LEFT_OUT.items():
        if counts[name] and not totals[name]:
            print(f"ray_gym: {counts[name]} {text}; ray_gym/{name} in the log counts them", file=sys.stderr, flush=True)
    totals.update(counts)
