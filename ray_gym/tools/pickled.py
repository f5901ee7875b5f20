"""Encodes environments and what belongs to them as pickles, and names what can't be encoded."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Mapping
from typing import Any

from ray_gym.errors import UserError, describe

_REFUSED = (pickle.PicklingError, AttributeError, TypeError)


def pickled(value: Any, by_value: bool) -> bytes:
    """Encodes a value as a pickle, by reference to its classes. `by_value`: with its classes, as another process can't import
    those of a script. Errors: any exception for a value that can't be pickled.
    """
    if not by_value:
        with contextlib.suppress(*_REFUSED):
            return pickle.dumps(value)
    from ray import cloudpickle

    return bytes(cloudpickle.dumps(value))


def require_portable(environment: Any, where: str) -> None:
    """Checks that an environment can be sent to workers. `where`: the part of the input that names it. Errors: UserError."""
    if (why := why_not_portable(environment)) is not None:
        raise UserError(f"{where}: {why}")


def why_not_portable(environment: Any) -> str | None:
    """Returns why an environment can't be sent to workers, with the attribute that is in the way; None if it can."""
    why = _why_not(environment)
    if why is None:
        return None
    kept = vars(environment) if hasattr(environment, "__dict__") else {}
    name = type(environment).__name__
    if isinstance(kept, Mapping):
        for attribute, value in kept.items():
            if _why_not(value) is not None:
                what = f"{name}.{attribute} is a {type(value).__name__}, and can't be sent to workers"
                return f"{what}: open it in `prepare_worker`, which each worker calls, and give it back in `close`"
    return f"{name} can't be sent to workers: {why}"


def _why_not(value: Any) -> str | None:
    from ray import cloudpickle

    try:
        cloudpickle.dump(value, _Nowhere())
    except Exception as error:
        return describe(error)
    return None


class _Nowhere:
    """Takes a pickle, and keeps nothing of it."""

    def write(self, written: bytes | memoryview) -> int:
        return memoryview(written).nbytes
