"""Encodes the bodies of requests to endpoints, and decodes those of their answers."""

from __future__ import annotations

import json
from typing import Any

import msgspec


def encode_json(body: Any) -> bytes:
    """Encodes a body as JSON. Lone surrogates become escapes. Errors: TypeError for values that JSON can't hold."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:  # lone surrogates
        return json.dumps(body).encode()


def decode_json(answer: bytes) -> Any:
    """Decodes JSON, and accepts values that only lax encoders write, like NaN. Whole numbers of more digits than Python
    reads become infinite. Errors: ValueError for other text.
    """
    try:
        return msgspec.json.decode(answer)
    except msgspec.DecodeError:
        return json.loads(answer, parse_int=_whole_number)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def _whole_number(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # `sys.get_int_max_str_digits`
        return float(digits)
