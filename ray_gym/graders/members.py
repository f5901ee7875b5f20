"""Leaves out the reason that a judge gives in its JSON object: it may name the reference by a word that is a label, too."""

from __future__ import annotations

import json
import re
from typing import Any

from ray_gym.graders.finder import Finder, within_brackets
from ray_gym.graders.hedges import DENIALS, PRAISE

_OBJECT = re.compile(r"\s*(?:```(?:json)?\s*)?(\{.*\})\s*(?:```\s*)?\Z", re.DOTALL | re.IGNORECASE)
_REASONS = re.compile(
    r"(?i:why|because|reason(?:s|ing)?|explanation|rationale|justification|analysis|comments?|feedback|thoughts?|evidence|notes?)"
)


def without_reason(text: str, finder: Finder) -> str:
    """Returns the text of a JSON object with one member that is a label without those that are its reason, unless words in
    them deny a label that is no negative one; other texts as they are.
    """
    found = _OBJECT.match(text)
    try:
        members: Any = json.loads(found[1]) if found else None
    except (ValueError, RecursionError):
        return text
    if not isinstance(members, dict):
        return text
    reasons = [key for key, value in members.items() if isinstance(value, str) and _REASONS.fullmatch(key)]
    verdicts = [label for key, value in members.items() if key not in reasons and (label := _label(value, finder))]
    if len(verdicts) != 1 or not reasons:
        return text
    is_denied = any(DENIALS.search(PRAISE.sub("", members[key])) for key in reasons)
    if is_denied and verdicts[0] not in finder.negative:
        return text
    return json.dumps({key: value for key, value in members.items() if key not in reasons}, ensure_ascii=False)


def _label(value: Any, finder: Finder) -> str | None:
    """Returns the label that the value of a member is; None if it is none."""
    said = json.dumps(value) if isinstance(value, bool) else value
    return next(
        (one for one in finder.labels if isinstance(said, str) and said.strip() in (one, within_brackets(one))), None
    )
