"""Writes observations as text."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ray_gym.tools import answer

LARGEST = 256
"""Largest number of numbers in an observation. A model could not read more as text (an image, for example)."""
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_COLOURED = re.compile(r"\x1b\[([0-9;]*)m(.*?)\x1b\[0?m", re.DOTALL)


def as_text(observation: Any) -> str:
    """Returns an observation as text: a text unchanged, anything else as JSON, its decimal numbers with six significant
    digits. NaN and infinity, which JSON lacks, are texts in it.

    Errors: TypeError for an object that JSON does not have (a dataclass, bytes), which might show the policy what it is
    not to see; ValueError for keys of a mapping that are one key in JSON.
    """
    try:
        plain = _plain(observation)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"the game's observation can't be shown: {error}") from None
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def without_escapes(picture: str) -> str:
    """Returns a picture for a terminal as plain text, in which `[S red]` stands for a red S, because often only a
    colour marks the player.
    """
    return _COLOURED.sub(_name_colours, picture).strip("\n")


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return dict(zip(_plain_keys(value), map(_plain, value.values()), strict=True))
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else json.dumps(value)
    return value if isinstance(value, str | int) or value is None else json.loads(answer.as_text(value))


def _plain_keys(mapping: Mapping[Any, Any]) -> list[str]:
    """Returns the keys of a mapping as texts, among them numbers and tuples of these. Errors: as `as_text`."""
    for key in mapping:
        _plain(key)
    keys = Counter(map(str, mapping))
    for key, times in keys.items():
        if times > 1:
            raise ValueError(f"it returned a mapping with {times} keys that are all {key!r} in JSON")
    return list(keys)


def _name_colours(found: re.Match[str]) -> str:
    codes = [int(code) for code in found[1].split(";") if code.isdigit()]
    colours = [_COLOURS[code % 10] for code in codes if 30 <= code < 48 and code % 10 < len(_COLOURS)]
    return f"[{found[2]} {' on '.join(colours)}]" if colours else found[2]
