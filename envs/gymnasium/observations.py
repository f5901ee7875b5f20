"""Observations as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

LARGEST = 256
"""More numbers than this are no text that a model could read (an image, say)."""
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_COLOURED = re.compile(r"\x1b\[([0-9;]*)m(.*?)\x1b\[0?m", re.DOTALL)


def as_text(observation: Any) -> str:
    """Text as it is, all else as JSON; numbers with six digits."""
    plain = _plain(observation)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def without_escapes(picture: str) -> str:
    """A picture for a terminal; what is coloured or lies on a colour, which is often all that tells a player from the rest, is named."""
    return _COLOURED.sub(_named, picture).strip("\n")


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


def _named(found: re.Match[str]) -> str:
    codes = [int(code) for code in found[1].split(";") if code.isdigit()]
    colours = [_COLOURS[code % 10] for code in codes if 30 <= code < 48 and code % 10 < len(_COLOURS)]
    return f"[{found[2]} {' on '.join(colours)}]" if colours else found[2]
