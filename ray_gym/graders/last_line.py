"""Reads a judge's label by form: the last line of an answer is a label and nothing else, or there is none. No words are
weighed, so that nothing before that line, whoever wrote it, can be taken for the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ray_gym.graders.characters import MARKS
from ray_gym.graders.finder import finder_of
from ray_gym.graders.labels import clear_label, without_styles
from ray_gym.graders.titles import is_of_the_whole
from ray_gym.models.thoughts import last_words

_NO_WORDS = re.compile(r"\s*(?:`{3,}|~{3,}|-{3,}|\*{3,}|_{3,})?\s*")
"""Line that says nothing: a fence, or a rule."""
_BEFORE = re.compile(rf"(?:{MARKS}|#)*+(?:(?P<title>[^\W\d][\w /-]{{0,39}}?){MARKS}*+[:=\uff1a]{MARKS}*+)?")
_BEHIND = re.compile(rf"(?:{MARKS}|[.!\u3002])*+")


def label_of_last_line(text: str, labels: Iterable[str]) -> str | None:
    """Returns the label that is the last line of a text, perhaps behind the title of a verdict (`Final verdict: NO`);
    None if that line has another word, or is Markdown's of a quotation (`> NO`). Lines without words, as of a fence, are
    passed over.
    """
    labels = tuple(labels)
    lines = [line for line in without_styles(last_words(text), labels).splitlines() if not _NO_WORDS.fullmatch(line)]
    if lines and lines[-1].lstrip().startswith(">"):
        return None
    found = finder_of(labels).exactly.search(lines[-1]) if lines else None
    if found is None or not _BEHIND.fullmatch(lines[-1], found.end()):
        return None
    before = _BEFORE.fullmatch(lines[-1], 0, found.start())
    if before is None or (before["title"] is not None and not is_of_the_whole(before["title"])):
        return None
    return clear_label(lines[-1], labels)
