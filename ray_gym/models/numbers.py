"""Defines the numbers of configs. YAML reads `on` and `yes` as true, which pydantic would take for 1."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AllowInfNan, BeforeValidator
from pydantic_core import PydanticCustomError

NO_BOOL = "Input should be a number; true, yes, on and the like are none"


def _refuse_bool(value: Any) -> Any:
    """Returns a value that is no bool as it is. Errors: PydanticCustomError for a bool."""
    if isinstance(value, bool):
        raise PydanticCustomError("bool_for_number", NO_BOOL)
    return value


Integer = Annotated[int, BeforeValidator(_refuse_bool)]
"""Whole number of a config, which may be a text of digits but no bool."""
Real = Annotated[float, BeforeValidator(_refuse_bool), AllowInfNan(False)]
"""Number of a config, which may be a text of digits but no bool, and no infinity: JSON, in which runs are kept, has none."""
