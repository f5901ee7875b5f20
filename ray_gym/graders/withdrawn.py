"""Finds boxes that their author did not take back: struck through, denied before the box, or called wrong behind it."""

from __future__ import annotations

import re

from ray_gym.graders.denials import NOT, is_called_wrong, without_struck
from ray_gym.graders.extract import split_at_last_box

_DENIED_BOX = re.compile(
    rf"({NOT}(?:\s(?:be|equal\sto|equal))?[\s$*_]{{0,9}}(?:\\[(\[]\s{{0,9}})?)\\(?:boxed|fbox)(?=\s*\{{)", re.IGNORECASE
)
_AROUND_A_BOX = re.compile(r"(?:[\s}$*_)]|\\[)\]])*+")


def split_at_standing_box(text: str) -> tuple[str | None, str]:
    r"""Returns the content of the last box that is neither struck through nor denied (`not \boxed{12}`), and the rest of
    the line behind it; None and "" without one. Whether that rest takes the box back, `is_called_wrong` says.
    """
    boxed, behind = split_at_last_box(_DENIED_BOX.sub(r"\1", without_struck(text)))
    line = behind.partition("\n")[0]
    return boxed, _AROUND_A_BOX.sub("", line, count=1)


def standing_box(text: str) -> str | None:
    """Returns the content of the last box that is not taken back; None if there is none."""
    boxed, behind = split_at_standing_box(text)
    return None if is_called_wrong(behind) else boxed
