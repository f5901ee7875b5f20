"""Reads JSON step by step, so that what is passed on as text stays spelled as its writer spelled it, apart from the codes
of characters that a server writes for others than those of ASCII.

A value is `msgspec.Raw`, its JSON text, or decoded data where a text was too lax for msgspec (NaN, half a surrogate
pair).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ray_gym.engines.json_bodies import decode_json

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_elements = msgspec.json.Decoder(list[msgspec.Raw])
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|\\.")
"""Escapes of JSON by a code, which are many side by side (two for one character beyond 16 bits), or by a letter."""


def members(value: Any) -> Mapping[str, Any]:
    """Returns the values of an object by their names; none if the value is no object."""
    if not isinstance(value, msgspec.Raw):
        return value if isinstance(value, dict) else {}
    try:
        return _members.decode(value)
    except msgspec.DecodeError:
        return {}


def elements(value: Any) -> list[Any]:
    """Returns the values in a list: none of null and of what is empty, and of another value only itself."""
    if isinstance(value, list):
        return list(value)
    try:
        return list(_elements.decode(value)) if isinstance(value, msgspec.Raw) else [value] if value else []
    except msgspec.DecodeError:
        return [value] if value_of(value) else []


def value_of(value: Any) -> Any:
    """Returns the decoded data. Errors: ValueError for bytes that are no UTF-8."""
    return decode_json(bytes(value)) if isinstance(value, msgspec.Raw) else value


def text_or_json(value: Any) -> str:
    """Returns the text of a string, "" of null, and the JSON of any other value. Errors: as `value_of`."""
    text = spelling(value)
    return value_of(value) or "" if text == "null" or text.startswith('"') else text


def spelling(value: Any) -> str:
    """Returns the JSON of a value, where possible as it was written, but with characters for their codes: those are of
    the wire's spelling in ASCII. Halves of surrogate pairs stay escaped.
    """
    if isinstance(value, msgspec.Raw):
        return _ESCAPES.sub(_unescaped, bytes(value).decode(errors="replace"))
    return _json(value)


def _unescaped(escapes: re.Match[str]) -> str:
    return _json(json.loads(f'"{escapes[1]}"'))[1:-1] if escapes[1] else escapes[0]


def _json(value: Any) -> str:
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", json.dumps(value, ensure_ascii=False))
