"""Makes the results of effects fit for the journal, which holds what msgpack does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.msgpack import Ext
from pydantic import BaseModel

from ray_gym.messages import utf8
from ray_gym.models.stored import wide_integer
from ray_gym.tools.answer import as_text


def fit_for_journal(value: Any) -> Any:
    """Returns a value as the journal holds it: numpy's numbers are Python's, pydantic models are JSON data, lone
    surrogates are "?", and integers may have any length. Nobody but the author's code sees it, so bytes, sets and
    dataclasses, too, are taken as msgpack has them.

    Errors: ValueError for data that holds itself, and for a pydantic model that can't be dumped; TypeError for a
    pydantic model that holds an object of which all might be shown.
    """
    try:
        return _fit(value)
    except RecursionError:
        raise ValueError("it returned data that holds itself, or is nested too deeply") from None


def _fit(value: Any) -> Any:
    if isinstance(value, Enum):
        return _fit(value.value)
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value) if -(2**63) <= value < 2**64 else wide_integer(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, np.generic):
        return _fit(value.item())
    if isinstance(value, Mapping):
        return {_fit_key(key): _fit(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_fit(item) for item in value]
    if isinstance(value, BaseModel | Path):
        return _fit(json.loads(as_text(value)))
    return value


def _fit_key(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple([_fit_key(part) for part in key])
    fit = _fit(key)
    return str(key) if isinstance(fit, Ext) else fit
