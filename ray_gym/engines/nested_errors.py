"""Reads the bodies of error answers, in which one error may be within another: a router has that of the provider behind
it, mostly as JSON in a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]

_WRAPPED = ("error", "innererror", "metadata", "raw", "message", "base_resp", "detail")
"""Fields of an error in which another one may be: that of the provider behind a router, also as JSON in a text."""
_WORDS = ("message", "status_msg", "raw", "msg", "error_msg")
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
    """Returns the words of each error that has any, with FastAPI's `detail`, and without those that are themselves an error
    as JSON.
    """
    found = (words for error in errors for words in (*map(error.get, _WORDS), _detail_of(error)))
    return [
        words for words in found if words and isinstance(words, str) and not isinstance(decoded(words), dict | list)
    ]


def _detail_of(error: Json) -> str | None:
    """Returns the `detail` of FastAPI's errors as a text, None without one: of each problem in a list its place in the
    request and its words, without the part of the request that it copies.
    """
    detail = error.get("detail")
    told = [_problem(one) for one in (detail if isinstance(detail, list) else [detail])]
    return "; ".join(filter(None, told)) or None


def _problem(one: Any) -> str | None:
    if not isinstance(one, dict) or "msg" not in one:
        return one if isinstance(one, str) else None
    location = one.get("loc")
    place = f"{'.'.join(map(str, location))}: " if isinstance(location, list) and location else ""
    return f"{place}{one['msg']}"


def decoded(text: str) -> Any:
    """Returns the data that a text is as JSON; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
