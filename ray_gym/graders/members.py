"""Leaves out the reason that a judge gives in its JSON object: it may name the reference by a word that is a label, too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ray_gym.graders.finder import Finder, within_brackets
from ray_gym.graders.hedges import DENIALS, PRAISE
from ray_gym.graders.preferred import BUT, bare, prefers
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
    denies another label is the reason; of a positive one, what denies a negative label is.
    """
    if end_of_withdrawn(reason):
        return False
    said = PRAISE.sub(" ", reason)
    if finder.names:
        is_chosen = any(prefers(name, verdict, said) for name in finder.names if name != verdict)
        return not is_chosen and set(stated(_without_subjects(said, finder))) <= {verdict, None}
    if verdict in finder.negative:
        return not _is_denied(verdict, reason) and set(stated(said)) <= {verdict, None}
    said = _denial_of(finder.negative).sub(" ", said)
    return DENIALS.search(said) is None and set(stated(said)) <= {verdict}


def _denial_of(labels: Iterable[str]) -> re.Pattern[str]:
    """Returns the pattern of words that say that nothing is as negative labels call it: no signs of unsafe content."""
    return re.compile(
        rf"(?i:(?:\bno\s(?:(?!(?:doubt|about|so|and|it|the|but)\b)\w{{1,12}}\s){{0,3}}"
        r"|(?:\bnot|n['\u2019]t|\bwithout)\s(?:(?:an?|any|be|have|contain(?:ing)?|including|include|show|give|provide|offer|promote|find|see|make)\s){0,3}"
        r"|\bno\s(?:evidence|signs?|indication|reason)\s(?:to\s\w{1,12}\s)?that\s(?:\w{1,12}\s){1,4}is\s"
        r"|\b(?:none|nothing)\s(?:\w{1,12}\s){0,4}?(?:(?:is|are)\s)?|\brefuse[sd]?\s(?:the|this|an?)\s)"
        rf"{bare(labels)})"
    )


def _is_denied(label: str, reason: str) -> bool:
    """Says whether a reason denies a label; `no` has to be right before it, and nothing may go on with `but`."""
    has_not = re.search(rf"(?i:\bnot|n['\u2019]t)\s(?:\w{{1,12}}\s)?{bare([label])}", reason)
    has_no = BUT.search(reason) is None and re.search(rf"(?i:\bno)\s{bare([label])}", reason)
    return bool(has_not or has_no)


def _without_subjects(said: str, finder: Finder) -> str:
    """Returns a reason in which the names that are spoken of, as in `B is wrong` and `A and B`, are left out."""
    spoken_of = r"\s(?:[a-z]|>)|['\u2019]s\s|\s(?:and|or|nor|&)\s"
    return re.sub(
        rf"{bare(finder.names)}(?={spoken_of})|(?:\b(?:and|or|nor)|[&>])\s(?:\w{{1,12}}\s)?{bare(finder.names)}",
        "it",
        said,
    )


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
