"""Makes stable ids and seeds: the same parts give the same value on every machine and in every process."""

from __future__ import annotations

import json
from typing import Any

import xxhash

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def _canonical(parts: tuple[Any, ...]) -> bytes:
    """Returns the parts as JSON in UTF-8: keys sorted, no white space."""
    if len(parts) == 3 and type(parts[0]) is int and type(parts[1]) is str and type(parts[2]) is int:
        seed, name, number = parts
        if name.isidentifier() and name.isascii():  # the parts of every model call: the same JSON, ten times faster
            return f'[{seed},"{name}",{number}]'.encode()
    return _encode(parts).encode()


def stable_id(*parts: Any) -> str:
    """Returns an id of JSON-serialisable parts: their XXH3 hash, 128 bits in hex."""
    return xxhash.xxh3_128_hexdigest(_canonical(parts))


def derive_seed(*parts: Any) -> int:
    """Returns a seed in [0, 2**63) from the XXH3 hash of JSON-serialisable parts: independent for every combination of
    parts.
    """
    return xxhash.xxh3_64_intdigest(_canonical(parts)) >> 1
