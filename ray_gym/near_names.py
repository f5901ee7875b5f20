"""Says for which hook or attribute of an environment a name was probably meant. It looks at names, and at who uses them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from types import CodeType
from typing import Any

NEAR = 0.8
"""Likeness from which the name of a method may be a hook's that is misspelt (of `difflib`)."""
_OTHER_WORDS = {"score_range": "reward_range"}
"""Names that are far from a hook's in letters, and mean the same."""
_CONSTANTS = frozenset({"pattern", "scoring", "tools"})
"""Attributes whose names in capitals are those of ordinary constants."""


def with_underscores(name: str) -> str:
    """Returns a name in which a capital begins each word (`isFinished`) as Python writes it (`is_finished`); other names as
    they are.
    """
    return re.sub(r"(?<=[a-z])[A-Z]", lambda found: f"_{found[0].lower()}", name)


def misspelt(name: str, hooks: Sequence[str]) -> str | None:
    """Returns the hook whose name differs from a name in a few letters, or in the places of two; None if there is none."""
    plain = with_underscores(name)
    found = get_close_matches(plain, hooks, n=1, cutoff=NEAR) or [hook for hook in hooks if _swapped(plain, hook)]
    return found[0] if found else None


def written_otherwise(name: str, hooks: Iterable[str]) -> str | None:
    """Returns the hook whose name has the same words in another case or order (`PARTICIPANTS`, `group_score`), or other
    words for the same; None if there is none.
    """
    for hook in hooks:
        if _OTHER_WORDS.get(name.lower()) == hook or (hook not in _CONSTANTS and _spellings(name) & _spellings(hook)):
            return hook
    return None


def _swapped(name: str, hook: str) -> bool:
    """Says whether two letters of one name, at most one letter apart, have each other's place in the other name."""
    if len(name) != len(hook):
        return False
    differ = [at for at in range(len(name)) if name[at] != hook[at]]
    if len(differ) != 2 or differ[1] - differ[0] > 2:
        return False
    first, second = differ
    return name[first] == hook[second] and name[second] == hook[first]


def is_used(name: str, classes: Iterable[type]) -> bool:
    """Says whether a method of the classes, other than that of the name itself, names an attribute."""
    codes = (code for one in classes for key, value in vars(one).items() if key != name for code in _codes(value))
    return any(name in code.co_names for code in codes)


def _spellings(name: str) -> set[str]:
    words = name.lower().split("_")
    return {"".join(words), "".join(sorted(words))}


def _codes(value: Any) -> Iterator[CodeType]:
    """Yields the code of a method or a property, and of the functions in it."""
    parts = (value.fget, value.fset) if isinstance(value, property) else (getattr(value, "__func__", value),)
    found = [getattr(inspect.unwrap(part), "__code__", None) for part in parts if callable(part)]
    while found:
        code = found.pop()
        if isinstance(code, CodeType):
            yield code
            found += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
