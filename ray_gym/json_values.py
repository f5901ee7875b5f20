"""Makes values of any kind into what JSON can hold."""

from __future__ import annotations

import math
from typing import Any


def finite(value: Any) -> Any:
    """Returns a value in which floats that are not finite, which JSON does not have, are None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value
