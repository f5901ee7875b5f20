"""Leaves out the reason that a judge gives in its JSON object: it may name the reference by a word that is a label, too."""

from __future__ import annotations

import json
import re
from typing import Any

from ray_gym.graders.finder import Finder, within_brackets
from ray_gym.graders.hedges import DENIALS, PRAISE
from ray_gym.graders.references import is_of_the_reference
from ray_gym.graders.retractions import end_of_withdrawn

_OBJECT = re.compile(r"\s*(?:```(?:json)?\s*)?(\{.*\})\s*(?:```\s*)?\Z", re.DOTALL | re.IGNORECASE)
_REASONS = re.compile(
    r"(?i:why|because|reason(?:s|ing)?|explanation|rationale|justification|analysis|comments?|feedback|thoughts?|evidence|notes?)"
)


def without_reason(text: str, finder: Finder) -> str:
    """Returns the text of a JSON object with one member that is a label without those that are its reason, if no label is in
    them but such as name the reference or deny a fault, and they take nothing back; other texts as they are.
    """
    found = _OBJECT.match(text)
    try:
        members: Any = json.loads(found[1]) if found else None
    except (ValueError, RecursionError):
        return text
    if not isinstance(members, dict):
        return text
    reasons = {key: value for key, value in members.items() if isinstance(value, str) and _REASONS.fullmatch(key)}
    verdicts = [label for key, value in members.items() if key not in reasons and (label := _label(value, finder))]
    if len(verdicts) != 1 or not all(
        _is_harmless(PRAISE.sub(" ", one), verdicts[0], finder) for one in reasons.values()
    ):
        return text
    return json.dumps({key: value for key, value in members.items() if key not in reasons}, ensure_ascii=False)


def _is_harmless(reason: str, verdict: str, finder: Finder) -> bool:
    """Says whether a reason neither denies its verdict, unless that is a negative one, nor has another or a withdrawal."""
    words = "|".join(re.escape(within_brackets(label)) for label in finder.labels)
    said = re.finditer(rf"(?<![^\W_])(?:{words})(?![^\W_])", reason, re.IGNORECASE)
    is_denied = verdict not in finder.negative and DENIALS.search(reason) is not None
    return (
        not is_denied and not end_of_withdrawn(reason) and all(is_of_the_reference(reason, *one.span()) for one in said)
    )


def _label(value: Any, finder: Finder) -> str | None:
    """Returns the label that the value of a member is; None if it is none."""
    said = json.dumps(value) if isinstance(value, bool) else value
    return next(
        (one for one in finder.labels if isinstance(said, str) and said.strip() in (one, within_brackets(one))), None
    )
