"""Keeps ${...} of a config as it is written wherever the config is written down again: an environment variable may be a
secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PLACES = (("run", "name"), ("output", "dir"), ("output", "journal_dir"), ("tasks", "path"))
"""Fields that say where a run and its tasks are: they are settled when the run begins, and are no secret."""

Path = tuple[str | int, ...]


class Verbatim(str):
    """A verbatim text comes from a config file; ${...} in it is meant as an interpolation."""


@dataclass(frozen=True, slots=True)
class Interpolation:
    """An interpolation is a value of the config that its file has as `text`, with ${...}."""

    path: Path
    text: str
    value: Any = field(repr=False)


def interpolations(written: Any, resolved: Any, path: Path = ()) -> Iterator[Interpolation]:
    """Yields the places where the written and the resolved config differ, as they do only by what was filled in."""
    if isinstance(written, str):
        if written != resolved and path not in PLACES:
            yield Interpolation(path, written, resolved)
    elif isinstance(written, Mapping) and isinstance(resolved, Mapping):
        for key in written:
            yield from interpolations(written[key], resolved[key], (*path, str(key)))
    elif isinstance(written, list) and isinstance(resolved, list):
        for index, (text, value) in enumerate(zip(written, resolved, strict=True)):
            yield from interpolations(text, value, (*path, index))


def as_written(data: Any, filled_in: Sequence[Interpolation]) -> Any:
    """Returns `data` with the file's own text where it still has the value that was filled in there."""
    texts = {each.path: each for each in filled_in}

    def written(node: Any, path: Path) -> Any:
        known = texts.get(path)
        if known is not None and node == known.value:
            return Verbatim(known.text)
        if isinstance(node, Mapping):
            return {key: written(value, (*path, str(key))) for key, value in node.items()}
        if isinstance(node, list | tuple):
            return [written(value, (*path, index)) for index, value in enumerate(node)]
        return node

    return written(data, ())
