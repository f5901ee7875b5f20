"""Tells what a judge's label stands behind: the title of a verdict (`Final verdict:`), or that of a part (`Grammar:`).

Words for verdicts are few, and names of parts endless. So a label behind any other title, or in a sentence about a part,
counts only as the last thing that is said: what follows it may be what counts. If that is a verdict behind its title,
on a line of its own or last in a list, parts before it count for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ray_gym.graders.characters import DASHES, MARKS
from ray_gym.graders.contradictions import is_said_of_a_part
from ray_gym.graders.places import OF_A_VERDICT, THEREFORE
from ray_gym.graders.quotes import is_introduced

_SEPARATOR = rf"(?:[:=|\uff1a\u2192]|[-=]>|(?<=\s)[\u2014{DASHES}](?=\s))"
_TITLE_WORD = r"[\w'\u2019/&()\u2013-]{1,24}"
_TITLE = re.compile(
    rf"(?:\A|[,;|(\n])(?:{MARKS}|[|\u2022{DASHES}]){{0,9}}(?P<title>(?=[A-Za-z]){_TITLE_WORD}(?:[ _]{_TITLE_WORD}){{0,3}})"
    rf"{MARKS}{{0,6}}{_SEPARATOR}(?:{MARKS}|[|]){{0,9}}\Z"
)
"""Title of at most four words right before a label."""
_SEPARATED = re.compile(rf"[:=|>\uff1a\u2192\u2014{DASHES}]\Z")
_WHOLE = re.compile(
    rf"(?i:(?:(?:{OF_A_VERDICT}|{THEREFORE}|[a-z]{{0,12}}correct\w*|final|overall|total|summary|points?|bewertung|nota|worse|worst|winner|best"
    r"|(?:\u6700[\u7ec8\u7d42]|[\u603b\u7e3d]\u4f53?|[\u7efc\u7dcf\u7d9c]\u5408|\u6574\u4f53|\ucd5c\uc885|\ucd1d|\uc885\ud569)?\s?"
    r"(?:[\u8bc4\u8a55][\u5206\u4ef7\u4fa1]|[\u603b\u7e3d]?\u5206[\u6570\u6578]?|\u5f97\u5206|\u70b9\u6570?|\u30b9\u30b3\u30a2|[\u7ed3\u7d50][\u679c\u8bba\u8ad6]|\u5224[\u5b9a\u65ad]"
    r"|\uc810\uc218?|\ud3c9\uac00|\ud310\uc815|\u043e\u0446\u0435\u043d\u043a[\u0430\u0438]|\u0438\u0442\u043e\u0433|\u0431\u0430\u043b\u043b)"
    r"|my|the|your|this|its|our|of|on|for|in|is|to|short|given|llm|judge['\u2019]?s?|reference|yes/no|(?-i:[A-Z]{2,16}/[A-Z]{2,16}))(?:[\s_/-]+|\Z))+\Z)"
)
"""A title all of whose words may be said of the whole, also in Chinese, Japanese, Korean and Russian."""
_NO_SCORE = re.compile(
    r"(?i:\d|\b(?:deduct\w*|penalt\w*|adjustments?|lost|errors?|mistakes?|issues?|number|count|found|confidence|certainty|rank"
    r"|difficulty|previous|threshold|passing|required|baseline|average\s\w+\sof|others)\b)"
)
"""Part of a title that makes the number behind it no score: Points lost: 3, Step 3: 4."""
_NUMBERED = r"(?:question|criterion|step|turn|item)"
_COUNTED_OFF = re.compile(
    rf"(?i:\u6263[\u9664\u4e86\u6389\u53bb]?\s?\Z|\b(?:{_NUMBERED}|deduct|subtract|(?:up|down)\sfrom)(?:{MARKS}|#){{1,6}}\Z"
    rf"|(?<![^\n])[\s*_#]{{0,6}}{_NUMBERED}{MARKS}{{0,3}}[:=]{MARKS}{{0,6}}\Z)"
)
"""Words right before a number that is no score: Step 3, Deduct 3 points, 7, up from 5."""
_NUMBER_BEHIND = re.compile(rf"(?:\s?[-/\u2013]\s?\d{{1,3}})?{MARKS}{{0,4}}[:=\uff1a]{MARKS}{{0,9}}\d")
_TITLE_BEFORE = re.compile(r"[\s*_#>|-]{0,9}[A-Za-z][A-Za-z ]{1,40}[\s(\[/]{1,4}(?:\d{1,3}\s?[-/\u2013]\s?)?\Z")
"""These two are around a number in a title: Step 3: 4, Score (1-10): 8."""
_WHY = "reason(?:s|ing)?|explanation|rationale|justification|comments?|notes"
_REASON = re.compile(rf"(?i:(?:{MARKS}|[,;.]){{0,12}}(?:{_WHY}|why|because|note){MARKS}{{0,6}}[:=\uff1a])")
_BEGINS_A_REASON = re.compile(rf"(?i:\b(?:{_WHY}){MARKS}{{0,6}}[:=\uff1a]{MARKS}{{0,12}}\Z)")
_GOES_ON = re.compile(r"[^\w\n\"]{0,6}[^\W_]")
_NEXT_TITLE = re.compile(rf"[\n,;.|]\s{{0,4}}{MARKS}{{0,6}}[A-Za-z][\w -]{{0,40}}{MARKS}{{0,4}}[:=|\uff1a]")
_PIECES = re.compile(r"(\n|[,;]\s)")
"""Parts a line, or a member of a list, from the next."""
_LINE = re.compile(
    rf"[\s*_#|\u2022\"{{{{{DASHES}]{{0,9}}(?:\d{{1,2}}[.)]\s{{1,3}})?[*_]{{0,3}}"
    rf"(?P<title>(?=[^\W\d_]){_TITLE_WORD}(?:[ _]{_TITLE_WORD}){{0,3}})[\s*_\"]{{0,4}}{_SEPARATOR}"
    rf"(?P<value>.{{1,60}}?)(?:\s[(\u2014{DASHES}][^\n]*)?\Z"
)
"""Line of a title, what is behind it, and a reason."""
_QUALITY = re.compile(r"(?i:correctness)")
"""Title that may be that of the whole, and is that of a part before `Overall:`."""
_AROUND = " \t\r*_`|.,\"'[](){}<>"
_OUT_OF = re.compile(r"(?<=\d)\s?(?:(?:/|out\sof)\s?\d{1,3}|[\u5206\u70b9\uc810])\Z")
_SCALE = re.compile(rf"[ (]{{1,2}}[01]\s?(?:to|[{DASHES}])\s?\d{{1,3}}\)?\Z")
_OF_THE_REFERENCE = re.compile(r"(?i:correct|given|expected|reference)")
_WORD = re.compile(r"[^\W_]")
_WINDOW = 120
"""Largest number of characters before a label in which its title is looked for."""


def goes_on_behind_a_part(said: str, first: int, start: int, end: int, last: int) -> bool:
    """Returns True if the label from `start` to `end`, in the sentence from `first` to `last`, is that of a part, and more
    than a reason follows that sentence, or a title in it.
    """
    title = _title(said, first, start)
    if title is None and not is_said_of_a_part(said, first, start):
        return False
    if title is not None and is_of_the_whole(title):
        return False
    if _NEXT_TITLE.search(said, end, last):
        return True
    reason = _REASON.match(said, last)
    if reason:
        return _NEXT_TITLE.search(said, reason.end()) is not None
    return _WORD.search(said, last) is not None


def begins_a_reason(said: str, start: int, end: int) -> bool:
    """Returns True if what is from `start` to `end` are the first words of a reason: Reason: Yes, it was asked."""
    return bool(_BEGINS_A_REASON.search(said, max(0, start - 40), start) and _GOES_ON.match(said, end))


def without_parts(said: str, labels: Collection[str]) -> str:
    """Returns a text without the lines, and members of lists, that are a part's title and its label (`Grammar: 4`), if
    the last is a label behind the title of a verdict (`Overall: 4`): that decides. Only a reason may be behind it.
    Nothing is left if someone else is said to have written the first part. Other texts stay as they are. `labels`:
    without brackets.
    """
    pieces = _PIECES.split(said)
    last = next((at for at in range(len(pieces) - 1, 0, -2) if _labelled(pieces[at], labels) is not None), 0)
    title, behind = _labelled(pieces[last], labels), "".join(pieces[last + 1 :])
    if title is None or not is_of_the_whole(title) or _OF_THE_REFERENCE.search(title):
        return said
    if _WORD.search(behind) and not _REASON.match(behind):
        return said
    parts = {at for at, piece in enumerate(pieces[:last]) if _is_of_a_part(_labelled(piece, labels))}
    before = "".join(pieces[: min(parts, default=0)])
    if is_introduced(before, len(before)):
        return ""
    return "".join(piece for at, piece in enumerate(pieces) if at not in parts)


def _is_of_a_part(title: str | None) -> bool:
    return title is not None and (not is_of_the_whole(title) or _QUALITY.search(title) is not None)


def _labelled(line: str, labels: Collection[str]) -> str | None:
    """Returns the title of a line that has only a label, and perhaps its reason, behind it, without the scale in it;
    None for another line.
    """
    found = _LINE.match(line)
    if found is None or _OUT_OF.sub("", found["value"].strip(_AROUND)) not in labels:
        return None
    return _SCALE.sub("", found["title"])


def is_of_the_whole(title: str) -> bool:
    """Returns True if all words of a title may be said of the whole: Final verdict."""
    return _WHOLE.match(title) is not None


def names_no_score(said: str, start: int, end: int) -> bool:
    """Returns True if a number from `start` to `end` stands in a title of another number, or behind a title of something
    other than a score: Deduction: 3, Step 3.
    """
    if _COUNTED_OFF.search(said, max(0, start - 24), start):
        return True
    begin = said.rfind("\n", max(0, start - _WINDOW), start) + 1 or max(0, start - _WINDOW)
    if _NUMBER_BEHIND.match(said, end) and _TITLE_BEFORE.match(said[begin:start]):
        return True
    title = _title(said, begin, start)
    return title is not None and _NO_SCORE.search(title) is not None and not is_of_the_whole(title)


def _title(said: str, first: int, start: int) -> str | None:
    """Returns the title right before a label, in what begins at `first`; None if there is none."""
    before = said[max(first, start - 12) : start].rstrip(" \t\n*_`\"'([{<$")
    if start - first > _WINDOW or (before and not _SEPARATED.search(before)):
        return None
    found = _TITLE.search(said[first:start])
    return found["title"] if found else None
