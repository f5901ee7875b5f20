"""Stable ids and seeds: the same parts give the same value on every machine, in every process."""

from __future__ import annotations

import json
from typing import Any

import xxhash

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def _canonical(parts: tuple[Any, ...]) -> bytes:
    if len(parts) == 3 and type(parts[0]) is int and type(parts[1]) is str and type(parts[2]) is int:
        seed, name, number = parts
        if name.isidentifier() and name.isascii():  # that of every model call: the same JSON, ten times faster
            return f'[{seed},"{name}",{number}]'.encode()
    return _encode(parts).encode()


def stable_id(*parts: Any) -> str:
    """128 bits in hex of JSON-serialisable parts."""
    return xxhash.xxh3_128_hexdigest(_canonical(parts))


def derive_seed(*parts: Any) -> int:
    """A seed in [0, 2**63), independent for every combination of parts."""
    return xxhash.xxh3_64_intdigest(_canonical(parts)) >> 1
