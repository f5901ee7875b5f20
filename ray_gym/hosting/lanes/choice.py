"""Which replica a call goes to first, and which ones after it when it is full."""

from __future__ import annotations

import random
from collections.abc import Sequence

import xxhash

from ray_gym.hosting.lanes.lane import Lane


def ranked(lanes: Sequence[Lane], key: str) -> list[Lane]:
    """By rendezvous hashing, the same in every process: one that comes or goes moves only its share of the keys.

    Without a key, whoever has the fewest calls of this process under way comes first; among equals, by chance.
    """
    if len(lanes) == 1:
        return list(lanes)
    if not key:
        return sorted(lanes, key=lambda lane: (lane.under_way, random.random()))
    return sorted(lanes, key=lambda lane: xxhash.xxh3_64_intdigest(f"{lane.end.replica} {key}".encode()))
