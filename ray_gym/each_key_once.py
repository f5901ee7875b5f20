"""Reads JSON objects whose keys must differ: other readers of JSON silently take one of two values of the same key."""

from __future__ import annotations

from collections import Counter
from typing import Any


class RepeatedKey(ValueError):
    """Says that an object has a key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key!r} is given twice in the same object")


def each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the pairs of an object as a dict, for `json.loads`. Errors: RepeatedKey if a key is there twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise RepeatedKey(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return fields
