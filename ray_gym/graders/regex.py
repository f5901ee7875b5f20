"""Searches a policy's text for regular expressions of a task or a config.

A search runs in a process with a deadline (`episode.isolated`), not on the event loop. A pattern such as `(a+)+$` takes
for ever on 40 characters, so a limit of the text does not help. A thread does not help either: `re` can't be
interrupted and keeps the interpreter's lock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field

from ray_gym.graders.extract import by_regex

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode
    from ray_gym.tools.library import IsolatedResult

LONGEST = 1000
"""Largest number of characters of a pattern."""
DEADLINE_S = 2.0
"""Seconds that a search may take."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return pattern


RegularExpression = Annotated[str, Field(min_length=1, max_length=LONGEST), AfterValidator(_compiles)]
"""Type of a pydantic field that takes the text of a valid pattern."""


def regexes_of_template(row: Mapping[str, Any], field: str, flags: str) -> list[str]:
    """Returns the expressions of `output_regex`, one or several, in the `template_metadata` of a row of NeMo Gym's; none if
    the row has a `field` of its own for them.

    `flags` (`(?i)`) are put in front, since an expression may begin with flags of its own. Errors: ValueError for what is
    no regular expression.
    """
    template = row.get("template_metadata")
    given = template.get("output_regex") if isinstance(template, Mapping) and field not in row else None
    patterns = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    for pattern in patterns:
        try:
            if not isinstance(pattern, str) or not pattern:
                raise ValueError(f"{pattern!r} is no text of a regular expression")
            if len(pattern) > LONGEST - len(flags):
                raise ValueError(f"{len(pattern):,} characters, of which at most {LONGEST - len(flags):,} may be there")
            _compiles(pattern)
        except ValueError as error:
            raise ValueError(f"template_metadata.output_regex: {error}") from None
    return [f"{flags}{pattern}" for pattern in patterns]


async def search(episode: Episode, pattern: str, text: str) -> IsolatedResult:
    """Finds the last match of a pattern in a text, in a process with a deadline of `DEADLINE_S`.

    The result's `value` is what `last_match` returns. Its `error` says why the search gave no result (it was too slow,
    say); None if it gave one.
    """
    return await episode.isolated(f"{__name__}:last_match", pattern, text, deadline_s=DEADLINE_S)


def last_match(pattern: str, text: str) -> str | None:
    """Returns the last match of a pattern, stripped: its first group that took part, or the whole match if the pattern
    has no groups. Returns None if nothing matches, no group took part, or the text is blank.
    """
    return by_regex(pattern)(text)
