"""Parses bodies of requests as JSON that all code after it can handle: of limited depth, with finite numbers, and with
text that can be encoded as UTF-8.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from ray_gym.messages import encodable
from ray_gym.openai_api.json_numbers import refuse_constant
from ray_gym.openai_api.refused import Refused

DEEPEST = 64
"""Largest depth of nested arrays and objects."""
_AROUND = 8
"""Most levels of a conversation around what a model wrote."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = np.zeros(256, dtype=np.int64)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1


def parse_json(body: bytes, is_of_an_agent: bool = False) -> Any:
    """Returns a body as JSON data. `is_of_an_agent`: True if it may repeat what a model wrote, of which lone surrogates
    become "?", as in the record. Errors: Refused (400) if it is malformed, nested deeper than `DEEPEST`, not UTF-8, or
    has a key twice in one object, or a number that is not finite or does not fit 64 bits.
    """
    if depth(body) > DEEPEST:
        raise _bad_json(f"it is nested deeper than {DEEPEST} levels", "too_deep")
    try:
        value = json.loads(
            body.decode(),
            parse_constant=refuse_constant,
            parse_float=_parse_float,
            parse_int=_parse_int,
            object_pairs_hook=_make_object,
        )
        if _SURROGATE.search(body):
            if is_of_an_agent:
                return encodable(value)
            json.dumps(value, ensure_ascii=False).encode()  # raises for lone surrogates, which escapes can spell
    except UnicodeEncodeError:
        raise _bad_json("half a surrogate pair (\\ud800 to \\udfff) stands alone") from None
    except UnicodeError:
        raise _bad_json("it has text that is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _bad_json(f"{error.msg} at character {error.pos}") from None
    except (ValueError, RecursionError) as error:
        raise _bad_json(str(error)[:200]) from None
    return value


def can_be_sent_back(value: Any) -> bool:
    """Returns True if an agent's body may have a value in it that its model wrote, decoded from JSON."""
    try:
        parse_json(b"[" * _AROUND + json.dumps(value).encode() + b"]" * _AROUND)
    except (Refused, RecursionError):
        return False
    return True


def depth(body: bytes) -> int:
    """Returns the largest depth of nested brackets outside of JSON strings; 0 if there are none. It does not parse the
    body, as a parser recurses.
    """
    without_escapes = body.replace(rb"\\", b"").replace(rb"\"", b"")
    brackets = b"".join(without_escapes.split(b'"')[::2]).translate(None, _NO_BRACKETS)
    if not brackets:
        return 0
    return int(np.cumsum(_STEPS[np.frombuffer(brackets, dtype=np.uint8)]).max())


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _parse_int(text: str) -> int:
    """Returns an integer. Errors: ValueError for one that does not fit 64 bits, which other code can't encode."""
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**64:
        raise ValueError("a number is too large")
    return number


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object of key-value pairs. Errors: ValueError for a repeated key, as parsers differ in which value
    counts.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is twice in one object")
    return found


def _bad_json(reason: str, code: str = "bad_json") -> Refused:
    return Refused(400, code, f"the body is not JSON that is accepted: {reason}")
