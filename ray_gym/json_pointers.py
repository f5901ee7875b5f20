"""Follows the `$ref`s of a JSON schema to other parts of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote


def look_up(reference: Any, root: Mapping[str, Any]) -> Any:
    """Returns the schema that a `$ref` within `root` is for; None for any other. It is a JSON pointer (RFC 6901)."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    node: Any = root
    for part in unquote(reference[1:]).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list):
            node = node[int(key)] if key.isdecimal() and int(key) < len(node) else None
        else:
            node = node.get(key) if isinstance(node, Mapping) else None
    return node
