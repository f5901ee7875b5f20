"""Makes values of any kind into what JSON can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def finite(value: Any) -> Any:
    """Returns a value in which floats that are not finite, which JSON does not have, are None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value


def of_numpy(value: object) -> Any:
    """Returns Python's value of one of numpy's (the `default` of `json.dumps`). Errors: TypeError for other objects."""
    if isinstance(value, np.floating):  # `item` of a long double is the same again
        return float(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
