"""Leaves out the reason that a judge gives in its JSON object: it may name the reference by a word that is a label, too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
_BUT = re.compile(r"(?i:\b(?:but|(?:al)?though|while|whereas|however|yet)\b)")
_IS = (
    r"(?:is|was)\s(?:(?!(?:not|no|less|only|almost|nearly|part(?:ial)?ly|hardly|barely|rarely|never|mostly|sometimes|some|supposedly"
    r"|allegedly|seemingly|apparently|from|but|at|close|neither)\b)\w{1,14}\s){0,3}"
)
_BEST = (
    rf"(?:{_IS}(?:better|best|stronger|superior|preferable|winner|preferred)"
    r"(?!\s(?:as\swell|too|at|with|for|when|where|written|\w{2,14}(?:ed|ly)|(?:in|on)\s(?!all|every|balance|general))\b)|wins"
    r"|has\sthe\s(?:better|best)\s(?:answer|response|solution|one)|outperforms|beats|surpasses)(?![^\W_])"
)
_WRONG = r"(?:wrong|off|incorrect|worse|weaker|inferior)"
_WORSE = (
    r"(?:(?:is|was)\s(?:(?:the|clearly|completely|factually|simply|plainly|much|far|also|just)\s){0,2}"
    rf"(?:{_WRONG}|not(?:\s(?:better|correct|right|as\sgood))?)|loses)"
    r"(?=[.,;:!)]|\Z|\s(?:than|to|because|as|since|and|but|while|whereas|answer|response|one|of)\b)"
)
_RIGHT = (
    rf"(?:{_IS}(?:right|correct)(?:\s(?:one|answer|response))?|(?:has|gives|provides)\sthe\s(?:right|correct)\s(?:answer|response|solution|one))"
    r"(?=[.,;:!)]|\Z|\s(?:and|because|as(?!\swell))\b)"
)
_NOT_SO = r"(?:(?:is|was|does|did|has)(?:\snot|n['\u2019]t))(?=[.,;]|\Z)"


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
        is_chosen = any(_is_chosen(name, verdict, said) for name in finder.names if name != verdict)
        return not is_chosen and set(stated(_without_subjects(said, finder))) <= {verdict, None}
    if verdict in finder.negative:
        return not _is_denied(verdict, reason) and set(stated(said)) <= {verdict, None}
    said = re.sub(
        rf"(?i:\bno\s(?:(?!(?:doubt|about|so|and|it|the|but)\b)\w{{1,12}}\s){{0,3}}|(?:\bnot|n['\u2019]t|\bwithout)\s(?:an?\s)?){_bare(finder.negative)}",
        " ",
        said,
    )
    return DENIALS.search(said) is None and set(stated(said)) <= {verdict}


def _is_denied(label: str, reason: str) -> bool:
    """Says whether a reason denies a label; `no` has to be right before it, and nothing may go on with `but`."""
    has_not = re.search(rf"(?i:\bnot|n['\u2019]t)\s(?:\w{{1,12}}\s)?{_bare([label])}", reason)
    has_no = _BUT.search(reason) is None and re.search(rf"(?i:\bno)\s{_bare([label])}", reason)
    return bool(has_not or has_no)


def _is_chosen(name: str, verdict: str, said: str) -> bool:
    """Says whether a reason prefers an answer of this name to that of the verdict: it calls it better, or the other worse,
    and does not say so of both; or nothing but right, or right where the other is not.
    """
    own, other = _bare([verdict]), rf"(?:\w{{3,12}}\s)?{_bare([name])}"
    preferred = rf"(?i:prefer|\bonly|choose|pick|favou?r)\s{other}(?!['\u2019]s)|{other}\s(?:>|(?i:should\sbe\s(?:preferred|chosen)))"
    if re.search(preferred, said):
        return True
    if re.search(rf"{other}\s(?i:{_BEST})|{own}\s(?i:{_WORSE})", said):
        return not re.search(rf"{own}\s(?i:{_BEST})|{other}\s(?i:(?:is|was)\s(?:\w{{1,12}}\s){{0,2}}{_WRONG})", said)
    if not re.search(rf"{other}\s(?i:{_RIGHT})", said):
        return False
    is_alone = not re.search(own, said) and not _BUT.search(said)
    return is_alone or re.search(rf"{own}\s{_NOT_SO}|\bnot\s{own}", said) is not None


def _without_subjects(said: str, finder: Finder) -> str:
    """Returns a reason in which the names that are spoken of, as in `B is wrong` and `A and B`, are left out."""
    spoken_of = r"\s(?:[a-z]|>)|['\u2019]s\s|\s(?:and|or|nor|&)\s"
    return re.sub(
        rf"{_bare(finder.names)}(?={spoken_of})|(?:\b(?:and|or|nor)|[&>])\s(?:\w{{1,12}}\s)?{_bare(finder.names)}",
        "it",
        said,
    )


def _bare(labels: Iterable[str]) -> str:
    """Returns the regular expression of one of the labels, without brackets, as a whole word."""
    return rf"(?<![^\W_])(?:{'|'.join(re.escape(within_brackets(label)) for label in labels) or '(?!)'})(?![\w-])"


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
