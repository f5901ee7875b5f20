"""Checks that bytes are JSON that everything behind can take: limited in depth, with finite numbers, and text that can
be encoded.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from ray_gym.openai_api.refused import Refused

DEEPEST = 64

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = np.zeros(256, dtype=np.int64)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1


def parsed(body: bytes) -> Any:
    """Parses a body. Errors: Refused."""
    if depth(body) > DEEPEST:
        raise _bad(f"it is nested deeper than {DEEPEST} levels", "too_deep")
    try:
        value = json.loads(
            body.decode(), parse_constant=_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_object
        )
        if b"\\u" in body:
            json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair can be written, but is no text
    except UnicodeError:
        raise _bad("there is text in it that is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _bad(f"{error.msg} at character {error.pos}") from None
    except (ValueError, RecursionError) as error:
        raise _bad(str(error)[:200]) from None
    return value


def depth(body: bytes) -> int:
    """Returns the depth of brackets, without parsing, which would recurse."""
    brackets = _TEXT.sub(b"", body).translate(None, _NO_BRACKETS)
    if not brackets:
        return 0
    return int(np.cumsum(_STEPS[np.frombuffer(brackets, dtype=np.uint8)]).max())


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _whole(text: str) -> int:
    """Parses an integer. One that does not fit 64 bits is an error, since nothing behind this could write it down."""
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**64:
        raise ValueError("a number is too large")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Makes an object of pairs. A repeated key is an error, since readers may not agree which of its values counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is twice in one object")
    return found


def _bad(reason: str, code: str = "bad_json") -> Refused:
    return Refused(400, code, f"the body is not JSON that can be taken: {reason}")
