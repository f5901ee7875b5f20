"""Tells which expected answers no answer could equal, as they are nothing, too long, or cut off."""

from __future__ import annotations

import re

from ray_gym.envs.math.joined_boxes import with_boxes_joined
from ray_gym.envs.math.notation import bare_expression
from ray_gym.graders import last_boxed

LONGEST = 2000
"""Largest number of characters of an answer that is read. A longer one would take long, and its beginning alone may be
contradicted by the rest."""
_SHOWN = 60
_ROWS = re.compile(r"\\right\s?\.|\\begin(?![A-Za-z])")
"""LaTeX in which a bracket need not be closed."""


def why_unreadable(expected: str) -> str | None:
    """Returns what is wrong with an expected answer that no right answer could equal; None if it can be read."""
    inside = last_boxed(with_boxes_joined(expected))
    written = expected if inside is None else inside
    if len(written) > LONGEST:
        return f"it has {len(written):,} characters, but no more than {LONGEST:,} are read"
    bare = bare_expression(written)
    if re.sub(r"\\(?:text|boxed)\{\s*\}", "", bare).strip() == "":
        return "it is no expression"
    shown = written if len(written) <= _SHOWN else f"{written[:_SHOWN]}..."
    return f"a bracket of it is not closed: {shown}" if _is_cut_off(written) else None


def _is_cut_off(written: str) -> bool:
    """Says whether brackets are not closed. Those of intervals may be of two kinds, and turned: `]1, 2]`."""
    plain = written.replace("\\\\", " ")
    opened, closed = (len(re.findall(pattern, plain)) for pattern in (r"[(\[]", r"[)\]]"))
    braces = [len(re.findall(rf"(?<!\\)\{brace}", plain)) for brace in "{}"]
    if braces[0] > braces[1]:
        return True
    is_open = (opened > closed and (opened + closed) % 2 == 1) or plain.count("\\{") > plain.count("\\}")
    return is_open and _ROWS.search(plain) is None
