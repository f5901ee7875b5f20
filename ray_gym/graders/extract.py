"""Finding the answer in what was said. Each gives None where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Extract = Callable[[str], str | None]

_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_ANSWER = re.compile(r"answer\s*(?:is\s*)?[:=]\s*(.+)", re.IGNORECASE)


def whole(text: str) -> str | None:
    """All of it, without the white space around."""
    return text.strip() or None


def last_boxed(text: str) -> str | None:
    r"""What the last `\boxed{...}` holds, with the braces inside it counted; one that is never closed counts for nothing."""
    closed = _closed_braces(text)
    for found in reversed(list(_BOXED.finditer(text))):
        end = closed.get(found.end() - 1)
        if end is not None:
            return text[found.end() : end].strip()
    return None


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


def _closed_braces(text: str) -> dict[int, int]:
    """Where each brace that is closed is closed; in one pass, whatever a model writes. A brace after a backslash is text."""
    closed: dict[int, int] = {}
    opened: list[int] = []
    escaped = False
    for position, letter in enumerate(text):
        if escaped or letter == "\\":
            escaped = not escaped
        elif letter == "{":
            opened.append(position)
        elif letter == "}" and opened:
            closed[opened.pop()] = position
    return closed
