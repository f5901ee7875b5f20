"""Matches regular expressions of a task or a config on a policy's text.

They run in a process of their own with a deadline (`episode.isolated`), not on the event loop: a pattern such as
`(a+)+$` takes longer than anyone waits on 40 characters, so bounding the text does not help, and neither does a thread:
`re` can't be interrupted and keeps the interpreter's lock.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from ray_gym.graders.extract import by_regex

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode
    from ray_gym.tools.library import IsolatedResult

LONGEST = 1000
"""Characters that a pattern may have."""
DEADLINE_S = 2.0
"""Seconds that a search may take."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return pattern


RegularExpression = Annotated[str, Field(min_length=1, max_length=LONGEST), AfterValidator(_compiles)]


async def search(episode: Episode, pattern: str, text: str) -> IsolatedResult:
    """Finds the last match of a pattern (None: there is none), or says why that was not found out in time."""
    return await episode.isolated(f"{__name__}:last_match", pattern, text, deadline_s=DEADLINE_S)


def last_match(pattern: str, text: str) -> str | None:
    """Returns the last match's first group that took part, or all of it."""
    return by_regex(pattern)(text)
