"""Finding the answer in what was said. Each gives None where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Extract = Callable[[str], str | None]

_BOX = r"\\(?:boxed|fbox)\s*\{"
_BRACES = re.compile(rf"(?P<box>{_BOX})|\\(?!{_BOX}).|[{{}}]", re.DOTALL)
"""Where a box is opened, any escaped character (which is no brace), a brace."""
_ANSWER = re.compile(r"answer\s*(?:is\s*)?[:=]\s*(.+)", re.IGNORECASE)


def whole(text: str) -> str | None:
    """All of it, without the white space around."""
    return text.strip() or None


def last_boxed(text: str) -> str | None:
    r"""What the last `\boxed{...}` holds, with the braces inside it counted; one that is never closed counts for nothing."""
    begun: list[int | None] = []  # braces that are open: where a box's inside begins, None for any other
    last = (-1, -1)
    for found in _BRACES.finditer(text):
        if found["box"]:
            begun.append(found.end())
        elif found[0] == "{":
            begun.append(None)
        elif found[0] == "}" and begun:
            last = max(last, (begun.pop() or -1, found.start()))
    return text[slice(*last)].strip() if last[0] >= 0 else None


def answer_line(text: str) -> str | None:
    """What stands behind the last `Answer:` on its line."""
    found = _ANSWER.findall(text)
    return found[-1].strip() if found else None


def tagged(tag: str) -> Extract:
    """What stands between the last `<tag>` and its `</tag>`."""
    pattern = re.compile(rf"<{re.escape(tag)}>((?:(?!<{re.escape(tag)}>).)*?)</{re.escape(tag)}>", re.DOTALL)

    def between(text: str) -> str | None:
        found: list[str] = pattern.findall(text)
        return found[-1].strip() if found else None

    return between


def by_regex(pattern: str, flags: int = 0) -> Extract:
    """The last match: its first group that took part, or all of it if the pattern has no groups. Errors: re.error."""
    compiled = re.compile(pattern, flags)

    def last_match(text: str) -> str | None:
        matches = list(compiled.finditer(text))
        if not matches:
            return None
        last = matches[-1]
        taken: Sequence[str | None] = last.groups() if compiled.groups else (last[0],)
        return next((group.strip() for group in taken if group is not None), None)

    return last_match


def first_of(*extracts: Extract) -> Extract:
    """What the first of these finds that finds anything."""
    return lambda text: next((found for extract in extracts if (found := extract(text)) is not None), None)
