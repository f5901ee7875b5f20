"""Leaves out the reason that a judge gives in its JSON object: it may name the reference by a word that is a label, too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ray_gym.graders.finder import Finder, within_brackets
from ray_gym.graders.hedges import DENIALS, PRAISE
from ray_gym.graders.retractions import end_of_withdrawn

_OBJECT = re.compile(r"\s*(?:```(?:json)?\s*)?(\{.*\})\s*(?:```\s*)?\Z", re.DOTALL | re.IGNORECASE)
_REASONS = re.compile(
    r"(?i:why|because|reason(?:s|ing)?|explanation|rationale|justification|analysis|comments?|feedback|thoughts?|evidence|notes?)"
)
_WORD = 4
"""Least number of letters of a label that may be in another letter case in a reason; `no` is a word there."""


def without_reason(text: str, finder: Finder, stated: Callable[[str], Sequence[str | None]]) -> str:
    """Returns the text of a JSON object with one member that is a label without those that are its reason, if they neither
    state another verdict nor take anything back; else, if labels are in them in another letter case, in front, in that of the
    labels. Returns other texts as they are.

    stated: returns the labels that stand as verdicts in a text; None for one that is doubtful.
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
    if len(verdicts) != 1:
        return text
    spelled = {key: _in_case_of_labels(one, finder) for key, one in reasons.items()}
    if not all(_is_harmless(one, verdicts[0], finder, stated) for one in spelled.values()):
        return text if spelled == reasons else json.dumps({**spelled, **_without(members, reasons)}, ensure_ascii=False)
    return json.dumps(_without(members, reasons), ensure_ascii=False)


def _without(members: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if key not in reasons}


def _is_harmless(reason: str, verdict: str, finder: Finder, stated: Callable[[str], Sequence[str | None]]) -> bool:
    """Says whether a reason neither denies its verdict nor states another, nor takes one back. Of a negative verdict, what
    denies another label is the reason.
    """
    names = "|".join(re.escape(within_brackets(name)) for name in finder.names)
    both = rf"(?<![^\W_])(?:{names})\s(?:and|or|nor|&)\s(?:\w{{1,12}}\s)?(?:{names})(?![^\W_])"
    said = PRAISE.sub(" ", reason)
    said = re.sub(both, " ", said) if names else said
    if verdict in finder.negative:
        own = re.escape(within_brackets(verdict))
        is_denied = re.search(rf"(?i:\bnot|n['\u2019]t|\bno)\s(?:\w{{1,12}}\s)?{own}(?![^\W_])", reason) is not None
        others = {verdict, None}
    else:
        is_denied, others = DENIALS.search(said) is not None, {verdict}
    is_withdrawn = end_of_withdrawn(reason) or any(_is_chosen(one, said) for one in finder.names if one != verdict)
    return not is_denied and not is_withdrawn and set(stated(said)) <= others


def _is_chosen(name: str, said: str) -> bool:
    """Says whether a reason prefers an answer of this name."""
    bare = rf"(?:\w{{3,12}}\s)?(?<![^\W_]){re.escape(within_brackets(name))}(?![^\W_])"
    good = r"(?:better|best|stronger|right|correct|superior|preferable)(?![^\W_])"
    words = rf"(?i:prefer|only|should\sbe|choose|pick|favou?r)\s{bare}|{bare}\s(?:(?i:is|has)\s(?:\w{{1,12}}\s){{0,4}}{good}|>)"
    return re.search(words, said) is not None


def _in_case_of_labels(reason: str, finder: Finder) -> str:
    """Returns a reason in which the words that are labels in another letter case are labels."""
    labels = {bare.lower(): bare for label in finder.labels if len(bare := within_brackets(label)) >= _WORD}
    words = "|".join(map(re.escape, labels)) if len(labels) == len(finder.labels) else ""
    if not words:
        return reason
    return re.sub(rf"(?i:(?<![^\W_])(?:{words})(?![^\W_]))", lambda found: labels[found[0].lower()], reason)


def _label(value: Any, finder: Finder) -> str | None:
    """Returns the label that the value of a member is; None if it is none."""
    said = json.dumps(value) if isinstance(value, bool) else value
    return next(
        (one for one in finder.labels if isinstance(said, str) and said.strip() in (one, within_brackets(one))), None
    )
