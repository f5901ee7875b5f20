"""Compares the final state of an episode with the expected one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ray_gym.errors import describe
from ray_gym.graders.grader import Grader, Verdict, shown

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode

MOST = 5
"""Number of differences that a verdict names. Further ones are counted."""


@dataclass(frozen=True)
class FinalState(Grader):
    """Gives 1 if two states are equal, else 0. The verdict names the places that differ."""

    actual: Any
    """State as it is: JSON-like data, of mappings, sequences and values."""
    expected: Any
    """State as it should be, in the same form."""

    async def grade(self, episode: Episode) -> Verdict:
        """Returns 1 if the two states are equal, else 0, with the first `MOST` differences as the reason."""
        found = list(differences(self.actual, self.expected))
        more = f"; and {len(found) - MOST} more" if len(found) > MOST else ""
        return Verdict(float(not found), "; ".join(found[:MOST]) + more if found else "as expected")


def differences(actual: Any, expected: Any) -> Iterator[str]:
    """Yields a text for every place in which two JSON-like values differ, in order. They may be nested to any depth."""
    open_places: list[Iterator[str | _Pair]] = [iter([("", actual, expected)])]
    while open_places:
        found = next(open_places[-1], None)
        if found is None:
            open_places.pop()
        elif isinstance(found, str):
            yield found
        else:
            open_places.append(_here(*found))


_Pair = tuple[str, Any, Any]
"""Path of two values, the actual value, and the expected one."""


def _here(path: str, actual: Any, expected: Any) -> Iterator[str | _Pair]:
    """Yields the differences of two values themselves, and the pairs inside of them that have to be compared."""
    here = path or "the state"
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        keys = sorted({*actual, *expected}, key=repr)
        alike = Counter(map(str, keys))
        for key in keys:
            name = str(key) if alike[str(key)] == 1 else repr(key)  # 1 and "1" are different keys
            place = f"{path}.{name}" if path else name
            if key not in actual:
                yield f"{place} is missing"
            elif key not in expected:
                yield f"{place} should not be there"
            else:
                yield place, actual[key], expected[key]
    elif _is_list(actual) and _is_list(expected):
        if len(actual) != len(expected):
            yield f"{here} has {len(actual)} entries, expected {len(expected)}"
        for position, (one, other) in enumerate(zip(actual, expected, strict=False)):
            yield f"{path}[{position}]", one, other
    elif not _same(here, actual, expected):
        yield f"{here} is {shown(actual)}, expected {shown(expected)}"


def _same(here: str, actual: Any, expected: Any) -> bool:
    """Says whether two values are equal. NaN counts as equal to NaN, and True as different from 1. `here`: their place.
    Errors: TypeError for values that can't be compared, like arrays.
    """
    if isinstance(actual, bool) != isinstance(expected, bool):
        return False
    try:
        return bool(actual == expected) or (_is_nan(actual) and _is_nan(expected))
    except Exception as error:
        told = f"can't be compared ({describe(error)}); give JSON-like data (`tolist()`)"
        raise TypeError(f"FinalState: {here}: {shown(actual)} and {shown(expected)} {told}") from error


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
