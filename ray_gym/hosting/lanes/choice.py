"""Chooses the order in which a call tries the replicas of a model. The first that is not full takes the call."""

from __future__ import annotations

import random
from collections.abc import Sequence

import xxhash

from ray_gym.hosting.lanes.lane import Lane


def rank_lanes(lanes: Sequence[Lane], key: str) -> list[Lane]:
    """Returns the lanes in the order in which a call with this key tries them.

    The order comes from rendezvous hashing (highest random weight, Thaler and Ravishankar 1998), and is the same in
    every process: a replica that comes or goes moves only its share of the keys. Without a key, the lane with the
    fewest calls of this process in flight comes first; ties are broken at random.
    """
    if len(lanes) == 1:
        return list(lanes)
    if not key:
        return sorted(lanes, key=lambda lane: (lane.in_flight, random.random()))
    return sorted(lanes, key=lambda lane: xxhash.xxh3_64_intdigest(f"{lane.end.replica} {key}".encode()))
