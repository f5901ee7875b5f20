"""A task's own regular expression for the place of the answer.

It runs in a process of its own with a deadline (`episode.isolated`), not on the event loop: a pattern such as `(a+)+$` takes longer than
anyone waits on 40 characters, so bounding the text does not help, and neither does a thread: `re` can't be interrupted and keeps the
interpreter's lock.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from ray_gym.graders import by_regex

LONGEST = 1000
"""Characters of a pattern."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return pattern


OutputRegex = Annotated[str, Field(min_length=1, max_length=LONGEST), AfterValidator(_compiles)]


def last_match(pattern: str, text: str) -> str | None:
    """What the last match found: its first group that took part, or all of it."""
    return by_regex(pattern)(text)
