"""Requests from the gateway to the Service actor: as text.

As objects, the tasks of the largest body would hold up the event loop of either for a good part of a second, also from a thread: pickling
does not let go of the interpreter.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from ray_gym.service.api import Request

Sent = TypeVar("Sent", bound=Request)


def written(request: Request) -> bytes:
    """Some milliseconds a megabyte."""
    return request.model_dump_json(exclude_unset=True).encode()


def read(kind: type[Sent], text: bytes) -> Sent:
    """For threads: others have their turn after every object."""
    return kind.model_validate(json.loads(text, object_pairs_hook=_object))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """In Python, where the interpreter lets go."""
    return dict(pairs)
