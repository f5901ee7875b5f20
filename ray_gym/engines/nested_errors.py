"""Reads the bodies of error answers, in which one error may be within another: a router has that of the provider behind
it, mostly as JSON in a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]

_WRAPPED = ("error", "innererror", "metadata", "raw", "message", "base_resp")
"""Fields of an error in which another one may be: that of the provider behind a router, also as JSON in a text."""
_WORDS = ("message", "status_msg", "raw")
"""Fields of an error that may hold its words. Those of the provider behind a router (OpenRouter) are in `raw`."""
_DEEPEST = 6
"""Largest number of errors within one another that are read."""


def errors_in(given: Any, depth: int = _DEEPEST) -> Iterator[Json]:
    """Yields the objects of an error's body, from the outermost to the innermost, at most `depth` within one another;
    none if the body is no JSON.
    """
    found = decoded(given) if isinstance(given, str) else given
    for error in found if isinstance(found, list) else [found]:
        if not isinstance(error, dict) or not depth:
            continue
        yield error
        if isinstance(error.get("error"), str):
            yield {"message": error["error"]}
        for name in _WRAPPED:
            yield from errors_in(error.get(name), depth - 1)


def words_of(errors: Iterable[Json]) -> list[str]:
    """Returns the words of each error that has any, without those that are themselves an error as JSON."""
    found = (error.get(name) for error in errors for name in _WORDS)
    return [words for words in found if isinstance(words, str) and not isinstance(decoded(words), dict | list)]


def detail_of(answer: Any) -> str:
    """Returns the `detail` of FastAPI's errors as a text, "" without one: of each problem in a list its place in the request
    and its words, without the part of the request that it copies.
    """
    detail = answer.get("detail") if isinstance(answer, dict) else None
    if not isinstance(detail, list) or not all(isinstance(one, dict) and "msg" in one for one in detail):
        return str(detail) if detail else ""
    return "; ".join(f"{_place(one.get('loc'))}{one['msg']}" for one in detail)


def _place(location: Any) -> str:
    return f"{'.'.join(map(str, location))}: " if isinstance(location, list) and location else ""


def decoded(text: str) -> Any:
    """Returns the data that a text is as JSON; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
