"""Writes observations as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

LARGEST = 256
"""Largest number of numbers in an observation. A model could not read more as text (an image, for example)."""
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_COLOURED = re.compile(r"\x1b\[([0-9;]*)m(.*?)\x1b\[0?m", re.DOTALL)


def as_text(observation: Any) -> str:
    """Returns an observation as text: a text unchanged, anything else as JSON, its decimal numbers with six significant
    digits.
    """
    plain = _plain(observation)
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
        return {str(key): _plain(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return value if isinstance(value, str | int) or value is None else str(value)


def _name_colours(found: re.Match[str]) -> str:
    codes = [int(code) for code in found[1].split(";") if code.isdigit()]
    colours = [_COLOURS[code % 10] for code in codes if 30 <= code < 48 and code % 10 < len(_COLOURS)]
    return f"[{found[2]} {' on '.join(colours)}]" if colours else found[2]
