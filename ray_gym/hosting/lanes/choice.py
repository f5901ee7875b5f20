"""Chooses which replica a call goes to first, and which ones after it when that one is full."""

from __future__ import annotations

import random
from collections.abc import Sequence

import xxhash

from ray_gym.hosting.lanes.lane import Lane


def ranked(lanes: Sequence[Lane], key: str) -> list[Lane]:
    """Returns the lanes in the order in which a call with this key tries them.
    The order comes from rendezvous hashing, the same in every process: a replica that comes or goes moves only its
    share of the keys. Without a key, the lane with the fewest calls of this process under way comes first; among
    equals, chance decides.
    """
    if len(lanes) == 1:
        return list(lanes)
    if not key:
        return sorted(lanes, key=lambda lane: (lane.under_way, random.random()))
    return sorted(lanes, key=lambda lane: xxhash.xxh3_64_intdigest(f"{lane.end.replica} {key}".encode()))
