"""Finds the answer in a text. Each function returns None if there is no answer, or only white space.

The text comes from a model, so every function takes linear time; `by_regex` is only as fast as its pattern.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise

from ray_gym.graders.boxes import Box, closed_boxes, with_latex_boxes
from ray_gym.graders.denials import is_denied_below, is_disowned, without_struck
from ray_gym.messages import is_blank

Extract = Callable[[str], str | None]
"""Function that returns the answer in a text; None if there is none."""

_BARE_BOX = re.compile(r"\\(?:boxed|fbox)\s+([^\s{}$\\]+)")
_VISIBLE = re.compile(r"\\\S|[^\\\s]+")
"""Pieces of LaTeX that are no white space, of which a backslash before white space is some."""
_ANSWER = re.compile(
    r"(?<![^\W_])(?<![^\W_]_)answer(?:\s+is)?[*_`]{0,3}\s*[:=\uff1a\uff1d](?:[*_`]{1,3}(?!\S)|\*\*|</(?:b|strong|em|i|u)>)?",
    re.IGNORECASE,
)
_FUNCTION = "sin|cos|tan|sec|csc|cot|arc|log|exp|sqr|abs|min|max|lim|det|gcd|lcm"
_MAYBE_MINUS = (
    r"-(?=[ \t]{1,9}(?:[\d.]|\\(?!\(|text|math|boxed|\$)"
    rf"|[a-z](?![ \t]{{0,3}}(?:-[ \t]{{0,3}}[A-Za-z]{{3}}(?<!{_FUNCTION})|[ \t]\*\*|[+][+]))[ \t]*(?:[-+*/^\d_]|(?<![a-dfgh])(?:[\n.]|\Z))"
    rf"|\((?![a-z]{{3}}[^()\n]{{0,99}}\)[ \t]*[A-Za-z]{{2}})(?![^()\n]{{0,99}},)[^()\n]{{0,99}}(?:[-+*/^\\]|\)\()))"
)
_RULE = (
    r"(?:(?:[-\u2013\u2014][ \t]?){3,}+|={3,}+|(?:\*[ \t]?){3,}+|_{3,}+|~{3,}+|[\u2500-\u257f]{3,}+"
    r"|\|(?:[ \t]?:?-+:?[ \t]?\|)+|\+(?:[-=]{2,}\+)+|:?-{2,}:?(?:[ \t]?\|[ \t]?:?-{2,}:?)+)"
)
_DECORATION = r"[\u2705\u2611\u27a1\u25b6\U0001f389\U0001f3af\U0001f447\U0001f449\U0001f4a1]\ufe0f?"
"""Sign above an answer that is none itself."""
_NEXT_LINE = re.compile(
    rf"[*_`\u200b \t\r]*+\n(?:[ \t]*+(?:(?:```|~~~)[ \t]?\w*|{_RULE}|{_DECORATION}(?=[ \t]*\n)|[*_`\u200b]*)[ \t\r]*+\n)*+"
    r"[ \t]*+(?P<display>(?:\$\$?|\\\[)[ \t\r]*+\n\s*+)?"
    rf"(?(display)|(?:(?:[#>]{{1,6}}|(?!{_MAYBE_MINUS})[-+*\u2022]|\d{{1,2}}[.)])[ \t]{{1,9}})*+)(?P<line>[^\n]+)"
    r"(?(display)(?:\s*+(?:\$\$?|\\\]))?)"
)
"""Next line that is neither blank, a fence nor a rule. Outside of a displayed formula, it is without the marks of lists, titles
and quotations before it.
"""
_DASHED = re.compile(rf"{_MAYBE_MINUS}|(?:{_RULE}|[*_`]+|\$\$?|\\\[)\Z")
"""Begins with what is either the mark of a point or a minus; or is nothing but a rule, or marks that begin something."""
_END_TOKEN = re.compile(r"(?:<[|\uff5c][^|\uff5c<>\s]{1,40}[|\uff5c]>|</s>|<end_of_turn>|</answer>)\Z")
"""Control token by which a model ends its answer, or the end of the tag around it, written as text."""
_LONGEST_TOKEN = 44
_MARKS = ("***", "**", "*", "___", "__", "_", "``", "`")
"""Marks of Markdown around a text, of which a longer one is before the one that it begins with."""


def whole(text: str) -> str | None:
    """Returns the whole text without white space around it; None if nothing is left."""
    return _shown(text)


def _shown(text: str) -> str | None:
    """Returns a text without white space around it; None if it is blank."""
    return None if is_blank(text) else text.strip()


def last_boxed(text: str) -> str | None:
    r"""Returns the content of the last `\boxed{...}` or `\fbox{...}`, in which braces are paired. A box that is not
    closed does not count, nor one with only white space in it, of which LaTeX's `\ ` is some. A box without braces, as in
    `\boxed E.`, has the next word, without a mark at its end. Returns None if there is no box.
    """
    return split_at_last_box(text)[1]


def split_at_last_box(text: str) -> tuple[str, str | None, str]:
    """Returns the text before the last box that is not blank, the box's content as `last_boxed` reads it, and the text
    from the content's end on; "", None and "" without a box. If all are blank, it is the last one, with None.
    """
    text = with_latex_boxes(text)
    boxes = closed_boxes(text)
    for bare in _BARE_BOX.finditer(text):
        boxes.append(Box(bare.start(), bare.start(1), bare.start(1) + len(bare[1].rstrip(".,;:!?)]"))))
    if not boxes:
        return "", None, ""
    boxes.sort(reverse=True)
    innermost = [box for later, box in pairwise([Box(len(text), 0, 0), *boxes]) if box.end <= later.start]
    last = next((box for box in innermost if _inside(text, box) is not None), boxes[0])
    return text[: last.start], _inside(text, last), text[last.end :]


def _inside(text: str, box: Box) -> str | None:
    visible = max((found.end() for found in _VISIBLE.finditer(text, box.begin, box.end)), default=box.begin)
    return _shown(text[box.begin : visible])


def answer_line(text: str) -> str | None:
    """Returns the text after the last `Answer:` that has any on the same line, or, if none has, the next line that has any
    behind the last one that ends its line; None if there is none.

    `Answer is:` and `Answer =` count too, in any letter case and width. Bold, italics and code of Markdown are left out
    around either, and so are control tokens at the end of the text (`<|im_end|>`), and what is struck through. `Wrong
    answer:` and `The student's answer:` announce none, and one that the next line calls wrong is none.
    """
    text = without_struck(_without_end_tokens(text))
    last = None
    for found in reversed(list(_ANSWER.finditer(text))):
        if is_disowned(text, found.start()):
            continue
        last = last or found
        line_end = text.find("\n", found.end())
        line = text[found.end() : line_end if line_end >= 0 else len(text)].strip()
        line_begin = text.rfind("\n", 0, found.start()) + 1
        answer = _shown(_undressed(_without_end(line, text[line_begin : found.start()])))
        if answer is not None:
            return None if line_end >= 0 and is_denied_below(text[line_end:], answer) else answer
    return _line_below(text, last.end()) if last is not None else None


def _line_below(text: str, start: int) -> str | None:
    """Returns the first line with words behind a title that ends at `start`, without Markdown's marks around it; None if
    there is none, or if the lines behind it call it wrong.
    """
    found = _NEXT_LINE.match(text, start)
    line = text[text.rfind("\n", 0, start) + 1 : start]
    answer = _shown(_undressed(_without_end(found["line"].strip(), line))) if found is not None else None
    if answer is not None and found is not None and not found["display"] and _DASHED.match(answer):
        return None
    return None if found is None or answer is None or is_denied_below(text[found.end() :], answer) else answer


def _without_end_tokens(text: str) -> str:
    end = len(text.rstrip())
    while (found := _END_TOKEN.search(text, max(0, end - _LONGEST_TOKEN), end)) is not None:
        end = found.start()
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


def _without_end(line: str, before: str) -> str:
    """Returns the end of a line without the mark that ends it, if only the part `before` it has that mark's other half:
    `**Answer: 42**`.
    """
    mark = next((mark for mark in _MARKS if line.endswith(mark)), "")
    bare = line.removesuffix(mark)
    return bare.strip() if mark not in bare and (mark == "**" or mark in before) else line


def _undressed(line: str) -> str:
    """Returns a text without Markdown's marks around all of it, and a full stop behind them. Underscores may be a part
    of a name (`__init__`), and stay.
    """
    bare = line.removesuffix(".")
    for mark in _MARKS:
        inside = bare[len(mark) : -len(mark)]
        if bare == f"{mark}{inside}{mark}" and "_" not in mark and inside and mark not in inside:
            return _undressed(inside.strip())
    return line


def tagged(tag: str) -> Extract:
    """Returns a function that extracts the text between the last `<tag>` and its `</tag>`, in any letter case, that is not
    blank. A tag that is not closed does not count. The function returns None if there is no such text.
    """
    name = re.escape(tag)
    either = re.compile(rf"<{name}\s{{0,9}}>|(?P<closing></{name}\s{{0,9}}>)", re.IGNORECASE)

    def between(text: str) -> str | None:
        last, opened = None, None
        for found in either.finditer(text):
            if not found["closing"]:
                opened = found.end()
            elif opened is not None:
                last, opened = _shown(text[opened : found.start()]) or last, None
        return last

    return between


def by_regex(pattern: str, flags: int = 0) -> Extract:
    """Returns a function that extracts the last match of a pattern, stripped: its first group that took part, or the
    whole match if the pattern has no groups. The function returns None if nothing matches, no group took part, or the
    text is blank.

    A pattern that may take very long on some text belongs into a function that `episode.isolated` calls. Errors:
    re.error for a pattern that is none.
    """
    compiled = re.compile(pattern, flags)

    def last_match(text: str) -> str | None:
        last = deque(compiled.finditer(text), maxlen=1)
        if not last:
            return None
        taken: Sequence[str | None] = last[0].groups() if compiled.groups else (last[0][0],)
        return next((_shown(group) for group in taken if group is not None), None)

    return last_match


def first_of(*extracts: Extract) -> Extract:
    """Returns a function that tries several extracts in order, and returns the first answer found; None without any."""
    return lambda text: next((found for extract in extracts if (found := extract(text)) is not None), None)
