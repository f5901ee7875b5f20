"""Gives each call of an answer an id of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count

from ray_gym.seeds import stable_id

LENGTH = 9
"""Number of letters and digits of an id that is made: Mistral's templates refuse other ids."""


def call_ids(own: Sequence[str], seed: int) -> list[str]:
    """Returns the ids of the calls of an answer. `own`: those that the model wrote, "" where it wrote none. Of calls with
    the same id, the first keeps it; another has the next number if its id ends with one (`functions.note:0`, in which
    Kimi K2's template shows the call's name).

    All other ids are made from the seed: parsers make up random ones, which a repetition with the same seed would not have.
    """
    ids: list[str] = []
    for index, id in enumerate(own):
        if id in ids:
            numbered = re.fullmatch(r"(.*:)\d+", id)
            later = (f"{numbered[1]}{number}" for number in count(index)) if numbered else ()
            id = next((free for free in later if free not in own and free not in ids), "")
        ids.append(id or stable_id(seed, index)[:LENGTH])
    return ids
