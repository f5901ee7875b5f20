"""Defines the numbers and the booleans of configs. YAML reads `on` and `yes` as true, which pydantic would take for 1, and
pydantic would take 1, "t" and "yes" for true.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AllowInfNan, BeforeValidator
from pydantic_core import PydanticCustomError

NO_BOOL = "Input should be a number; true, yes, on and the like are none"
NO_FLAG = "Input should be true or false"


def is_flag(value: Any) -> bool:
    """Says whether a value of a config is a boolean, or the text of one, as environment variables have it."""
    return isinstance(value, bool) or (isinstance(value, str) and value.lower() in ("true", "false"))


def _refuse_bool(value: Any) -> Any:
    """Returns a value that is no bool as it is. Errors: PydanticCustomError for a bool."""
    if isinstance(value, bool):
        raise PydanticCustomError("bool_for_number", NO_BOOL)
    return value


def _require_flag(value: Any) -> Any:
    """Returns a value that is a boolean, or the text of one, as it is. Errors: PydanticCustomError for others."""
    if not is_flag(value):
        raise PydanticCustomError("no_flag", NO_FLAG)
    return value


Integer = Annotated[int, BeforeValidator(_refuse_bool)]
"""Whole number of a config, which may be a text of digits but no bool."""
Real = Annotated[float, BeforeValidator(_refuse_bool), AllowInfNan(False)]
"""Number of a config, which may be a text of digits but no bool, and no infinity: JSON, in which runs are kept, has none."""
Flag = Annotated[bool, BeforeValidator(_require_flag)]
"""Boolean of a config: true or false, also as a text."""
