r"""Finds boxes that are one answer together with the next one: `\boxed{A} \text{ or } \boxed{B}`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ray_gym.graders.boxes import outer_boxes

_FURTHEST = 100
"""Largest number of characters between two boxes that are joined."""
_TEXT = re.compile(r"\\(?:text\w*|math\w+|mbox)\s?\{([^{}]*)\}")
_SIGNS = (
    (re.compile(r"\\(?:[()\[\],:;! \\]|hspace\s?\{[^{}]*\})|[$*_~()\[\]]"), " "),
    (re.compile(r"\\(?:q?quad(?![A-Za-z])|&)|[&;/\uff0c\u3001]"), ","),
    (re.compile(r"\\(?:l?or|vee)(?![A-Za-z])"), " or "),
    (re.compile(r"\\(?:land|wedge)(?![A-Za-z])"), " and "),
)
"""Commands and marks between two boxes, and the comma, word or space that each stands for."""
_DOUBT = r"(?:maybe|perhaps|possibly|alternatively)"
_JOINT = re.compile(
    rf"\s*(?:,|[.,\s]*\b(?:or|and|{_DOUBT}|as\swell\sas)\b)[\s,]*"
    rf"(?:\b(?:and|or|also|even|else|instead|{_DOUBT})\b[\s,]*){{0,2}}"
    r"(?:\b(?:the\s)?(?:option|choice|answer|letter)s?\b\s*)?",
    re.IGNORECASE,
)


def boxes_joined_to(before: str) -> Iterator[str]:
    """Yields the contents of the boxes that a comma, `and`, `or` or wide space joins to a box, from that one back, also with
    marks around it. `before`: the text before the box.
    """
    end = len(before)
    for box in reversed(outer_boxes(before)):
        if not _is_joint(before[box.end + 1 : end]):
            return
        yield before[box.begin : box.end]
        end = box.start


def _is_joint(between: str) -> bool:
    if len(between) > _FURTHEST:
        return False
    plain = _TEXT.sub(r" \1 ", between)
    for sign, meaning in _SIGNS:
        plain = sign.sub(meaning, plain)
    return _JOINT.fullmatch(plain) is not None
