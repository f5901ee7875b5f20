"""Tells the thoughts in a message from its words, for models whose engine has not done so.

Models that reason write their thoughts between marks, such as `<think>` and `</think>` (`MARKS` has them all). A prompt
may have opened the first thought, so that its first mark is missing. Elements that data may have as well, such as
`<analysis>`, are thoughts only at the beginning of a text, before words.
A mark directly between backquotes (`` `<think>` ``) or quotes (`"<think>"`) is none: the text speaks about it. Nor is a
type's parameter in code (`List<Thought>`): the beginning of a thought right behind a word has to be the usual mark, or
be closed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from ray_gym.messages import Message, is_blank

_STEM = "(?:thinking|thoughts?|think|reasoning|working_out)"
_TAG = (
    rf"(?!no[_-]|{_STEM}_(?:start|begin|end)\b|(?:begin|start|end)_(?:of_)?{_STEM}\b)(?:[\w-]{{1,20}}[:_|-])?"
    r"(?:think(?:[:_-]\w{1,60})?|thinking|antthinking"
    r"|thoughts?|(?:thought|thinking)[_-]process|cot|reasoning(?:[_-]content)?|scratch[_-]?pad|inner_monologue)"
)
_ATTRIBUTES = r"(?:\s[^<>=]{0,60}=[^<>]*+)?\s*"


_CLOSING = r"(?:(?=[\s\\|]{0,4}/)[\s\\|]{0,4}/[\s\\|]{0,4}|\s{0,3}\\{1,2}\s{0,3})"
"""Slash of a closing mark, with spaces, backslashes and bars around it (`< /think>`, `<\\/think>`, `<|/think|>`), or a
backslash in its place (`<\\think>`).
"""


class Marks(NamedTuple):
    """Regular expressions of a family's marks, in any letter case."""

    begin: str
    end: str
    frame: str | None = None
    """Marks around the words. They are left out of a text that has thoughts of the family."""
    are_channels: bool = False
    """True if every end begins words of its own, as a channel does: it ends all thoughts that are open, and makes none
    of the words after an earlier mark. Words of several channels are joined by line breaks.
    """


MARKS = (
    Marks(  # most models: <think>, <thinking>, <seed:think>, <longcat_think>, <think_never_used_51bc...>, <think id="1">
        rf"<(?!\|(?:begin|end|start)_)\|?(?P<tag>{_TAG}){_ATTRIBUTES}[|/]?>",
        rf"<{_CLOSING}(?P<end_of_tag>{_TAG})(?:\s|\|){{0,3}}>",
    ),
    Marks(  # Mistral; [REASONING]
        r"\[\|?(?:THINK|THINKING|THOUGHTS?|REASONING)\|?\](?!\()",
        rf"\[{_CLOSING}(?:THINK|THINKING|THOUGHTS?|REASONING)(?:\s|\|){{0,3}}\]",
    ),
    Marks(r"◁think▷", r"◁/think▷"),  # Kimi
    Marks(  # Kimi K3
        r"<\|open\|>\s*think\s*<\|sep\|>",
        r"<\|close\|>\s*think\s*<\|sep\|>",
        r"<\|(?:open|close)\|>\s*(?:response|message)\s*<\|sep\|>",
    ),
    Marks(  # OpenThinker, Sky-T1: <|begin_of_thought|>; Command A: <|START_THINKING|>; <start_working_out>, [think_start]
        rf"[<\[]\|?(?:(?:begin|start)_(?:of_)?{_STEM}|{_STEM}_(?:start|begin))\|?[>\]]",
        rf"[<\[]\|?(?:end_(?:of_)?{_STEM}|{_STEM}_end)\|?[>\]]",
        r"<\|(?:begin|end)_of_solution\|>|<\|(?:START|END)_RESPONSE\|>",
    ),
    Marks(r"<\|channel>thought", r"<channel\|>"),  # Gemma
    Marks(r"<unused94>thought", r"<unused95>"),  # MedGemma
    Marks(r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    Marks(r"<\|plamo:begin_think:plamo\|>", r"<\|plamo:end_think:plamo\|>"),  # PLaMo
    # gpt-oss, whose format is harmony: a thought ends where the final channel begins, or commentary, which is words to the
    # user (a preamble), or a call, which stays as it is written: https://cookbook.openai.com/articles/openai-harmony
    Marks(
        r"(?:<\|start\|>assistant\s*)?<\|channel\|>analysis(?:<\|message\|>)?",
        r"(?:<\|end\|>\s*)?(?:(?:<\|start\|>assistant\s*)?<\|channel\|>(?:final|commentary)"
        r"(?:\s*<\|constrain\|>\s*\w+\s*)?<\|message\|>"
        r"|(?=<\|start\|>assistant\s+to=|(?<!<\|start\|>assistant)<\|channel\|>commentary\s+to="
        r"|<\|start\|>assistant\s*<\|channel\|>commentary\s+to=))",
        r"<\|(?:return|end)\|>|<\|start\|>assistant(?!\s+to=)",
        are_channels=True,
    ),
)
"""Families of marks where a thought begins and ends. A tag is ended by the tag of the same name; if none follows, by one
of another name that ends nothing else.
"""
_FRAMED = re.compile(
    r"\s*(?:Here(?: i|['\u2019])s my thought process:(.*?)Here(?: i|['\u2019])s my response:"  # Granite 3
    r"|analysis(?=[\sA-Z\"'(])(.*?)assistantfinal)",  # gpt-oss, of whose marks the control tokens were left out
    re.DOTALL,
)
"""Thought at the beginning of a text, between plain words that are marks only together."""
_ELEMENT = (
    r"(?:(?:self|inner|internal)[_-])?(?:analysis|reflections?|rationale|deliberation|contemplation|critique|monologue)"
)
_ELEMENTS = re.compile(
    rf"(?:\s*+<(?P<name>{_ELEMENT})>(?:[^<]|<(?!\s{{0,4}}/?\s{{0,4}}(?P=name)\s{{0,4}}>))*+<\s{{0,4}}/\s{{0,4}}(?P=name)\s{{0,4}}>)++",
    re.IGNORECASE,
)
"""Elements in which models think that are told so by a prompt (`<analysis>`), or were trained on it (`<reflection>`)."""
_ELEMENTS_TAG = re.compile(rf"\s*+<\s{{0,4}}/?\s{{0,4}}{_ELEMENT}\s{{0,4}}>\s*+", re.IGNORECASE)
_ANY = "|".join(f"(?P<begin{number}>{marks.begin})|(?P<end{number}>{marks.end})" for number, marks in enumerate(MARKS))
_BEGINS = r"(?=[<\[◁][^<\[])"  # what every mark begins with comes first: it is faster
_MARK = re.compile(f"{_BEGINS}(?:{_ANY})", re.IGNORECASE)
_MAY_BEGIN = re.compile(r"<[\w\s|/\\-]|\[[\s|/\\TRBSEW]|◁[t/]", re.IGNORECASE)
"""Beginning of every mark, for which texts without any, also JSON, are looked through several times faster."""
_PARAMETER = re.compile(
    r"(?<=\w)(?!<think>|\[THINK\])(?:<[\w:-]+>|\[\w+\])|\[(?:[Tt]houghts?|[Rr]easoning)\]", re.ASCII
)
"""Beginning of a thought that may be the parameter of a type, as in `List<Thought>`: it is right behind a word; or a title,
as in `[Reasoning] ... [Answer] ...`. It has to be closed.
"""
_FRAMES = {
    str(number): re.compile(marks.frame, re.IGNORECASE) for number, marks in enumerate(MARKS) if marks.frame is not None
}

_QUOTES = {"`": "`", '"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "\u201e": "\u201c", "\xab": "\xbb"}
"""Quotes that open a mention, each with the one that closes it."""

_CHANNELS = frozenset(str(number) for number, marks in enumerate(MARKS) if marks.are_channels)
"""Families whose marks are those of channels."""


def has_mark(text: str) -> bool:
    """Returns True if a thought begins or ends in a text."""
    return (
        _FRAMED.match(text) is not None
        or len(_with_elements_apart(text, False)) > 1
        or next(_marks_in(text), None) is not None
    )


def has_mention(text: str) -> bool:
    """Returns True if a text speaks about a mark, as of `` `<think>` ``, so that none is there."""
    return any(_is_mention(text, *found.span()) for found in _MARK.finditer(text))


def is_opened(prompt: str) -> bool:
    """Returns True if a thought begins in a prompt, and does not end in it."""
    return _unclosed(prompt) is not None


def first_end(text: str) -> tuple[int, int]:
    """Returns the start and the end of the first mark in a text that ends a thought; its length twice if there is none."""
    found = next((found for found in _marks_in(text) if _kind(found).is_end), None)
    return (len(text), len(text)) if found is None else found.span()


def ends_of_nothing(text: str, is_closed: bool) -> list[tuple[int, int]]:
    """Returns the start and the end of each mark in a text that ends a thought, but has none to end: all before it are
    ended. `is_closed`: whether a thought has ended before the text; else the first may end one that began there.
    """
    opened, found_ends = 0, []
    for found in _marks_in(text):
        kind = _kind(found)
        if kind.family in _CHANNELS or _is_empty(kind, found):
            continue
        if kind.is_end and is_closed and not opened:
            found_ends.append(found.span())
        is_closed = is_closed or kind.is_end
        opened = max(opened - 1, 0) if kind.is_end else opened + 1
    return found_ends


def start_of_unclosed(text: str) -> int:
    """Returns the index where a thought begins that nothing ends; the text's length if there is none."""
    unclosed = _unclosed(text)
    return unclosed.start() if unclosed else len(text)


def _unclosed(text: str) -> re.Match[str] | None:
    last = None
    for found in _marks_in(text):
        last = None if _kind(found).is_end else last or found
    return last


def has_one_at_most(text: str) -> bool:
    """Returns True if a text has no thought, or one before all words. The prompt may have opened it."""
    marks = list(_marks_in(text))
    if not marks:
        return True
    is_opened = not _kind(marks[0]).is_end
    if is_opened and not is_blank(text[: marks[0].start()]):
        return False
    return all(_kind(found).is_end for found in marks[is_opened:]) and len(marks) <= 1 + is_opened


def count_marks(text: str) -> int:
    """Returns the number of marks in a text."""
    return sum(1 for _ in _marks_in(text))


def _marks_in(text: str) -> Iterator[re.Match[str]]:
    """Yields the marks in a text, in order, but not those that are mentioned, nor parameters of types. Full-width bars
    and underlines, which DeepSeek's special tokens have, are read as plain ones.
    """
    last_ends: dict[_Kind, int] | None = None
    text = text.replace("\uff5c", "|").replace("\u2581", "_")
    first = _MAY_BEGIN.search(text)
    for found in _MARK.finditer(text, first.start()) if first else ():
        if _is_mention(text, *found.span()):
            continue
        if _PARAMETER.match(text, found.start()):
            if last_ends is None:
                last_ends = {_kind(mark): mark.start() for mark in _MARK.finditer(text)}
            if last_ends.get(_kind(found)._replace(is_end=True), -1) < found.start():
                continue
        yield found


def _is_mention(text: str, start: int, end: int) -> bool:
    """Returns True if a mark is directly between backquotes or quotes. It is not between straight quotes of which the
    first may close what is before it, or the last open what follows: `"yes"</think>"No" is ...`.
    """
    opening = text[start - 1 : start] if start else ""
    if not opening or _QUOTES.get(opening) != text[end : end + 1]:
        return False
    before, after = text[max(start - 2, 0) : start - 1], text[end + 1 : end + 2]
    return opening not in "\"'" or not (before.isalnum() or after.isalnum() or before in {".", "!", "?", "\u2026"})


def tell_apart(text: str, has_calls: bool = False) -> tuple[str, str]:
    """Returns the thoughts in a text, and its words without them; both are stripped if there are marks, and else the
    thoughts are "" and the words the text as it is. It takes linear time.

    A thought that is not closed goes to the end of the text. An end without a beginning makes all words before it a
    thought. Of thoughts within a thought, the outermost counts. `has_calls`: True if calls of tools follow the text.
    """
    pieces = _split(text, has_calls)
    if len(pieces) == 1:  # it has no marks
        return "", text
    thoughts = [piece.strip() for is_thought, piece in pieces if is_thought]
    return "\n".join(filter(None, thoughts)), "".join(piece for is_thought, piece in pieces if not is_thought).strip()


def last_words(text: str) -> str:
    """Returns the words after the last thought in a text; if it has none there, those before that thought; the whole
    text if it has no thoughts.
    """
    pieces = _split(text)
    if len(pieces) == 1:  # it has no marks
        return text
    said = [piece.strip() for is_thought, piece in pieces if not is_thought]
    return next((words for words in reversed(said) if not is_blank(words)), "")


def with_thoughts_apart(message: Message) -> Message:
    """Returns a message whose thoughts are its `reasoning`, after those that it has there already, unless these are the same:
    some servers give thoughts twice.
    """
    thoughts, said = tell_apart(message.content, has_calls=bool(message.tool_calls))
    if said == message.content:
        return message
    reasoning = message.reasoning or ""
    if thoughts.strip() != reasoning.strip():
        reasoning = "\n".join(filter(None, (reasoning, thoughts)))
    return replace(message, content=said, reasoning=reasoning or None)


def _with_first_elements_apart(pieces: list[tuple[bool, str]], has_calls: bool) -> list[tuple[bool, str]]:
    """Returns pieces of a text in which the elements that the first words begin with, behind other thoughts, are thoughts."""
    first = next((at for at, (is_thought, piece) in enumerate(pieces) if not is_thought and not is_blank(piece)), None)
    if first is None:
        return pieces
    goes_on = has_calls or any(not is_thought and not is_blank(piece) for is_thought, piece in pieces[first + 1 :])
    return [*pieces[:first], *_with_elements_apart(pieces[first][1], goes_on), *pieces[first + 1 :]]


def _with_elements_apart(text: str, has_calls: bool) -> list[tuple[bool, str]]:
    """Returns the pieces of a text of which the elements at its beginning are thoughts. If nothing follows, they are what
    was asked for, and the text is the one piece.
    """
    found = _ELEMENTS.match(text)
    if found is None or (is_blank(text[found.end() :]) and not has_calls):
        return [(False, text)]
    return [(True, _ELEMENTS_TAG.sub("\n", found[0])), (False, text[found.end() :])]


def _split(text: str, has_calls: bool = False) -> list[tuple[bool, str]]:
    """Returns the pieces of a text between marks, in order, each after True if it is a thought. `has_calls`: True if calls
    of tools follow the text.
    """
    pieces: list[tuple[bool, str]] = []
    if framed := _FRAMED.match(text):
        pieces.append((True, framed[1] or framed[2] or ""))
    elif len(elements := _with_elements_apart(text, has_calls)) > 1:
        pieces.append(elements[0])
    position = framed.end() if framed else len(text) - len(elements[-1][1])
    settled = len(pieces)  # the pieces before this number are known to be no words
    marks = [(_kind(found), found) for found in _marks_in(text) if found.start() >= position]
    if not marks:
        return [*pieces, (False, text[position:])]
    ends = _ends_of_thoughts([each for each in marks if not _is_empty(*each)])
    ends |= _ends_by_slip(marks, ends)
    for kind, found in marks:
        if found.start() < position:  # it is in a thought
            continue
        pieces.append((False, text[position : found.start()]))
        position = found.end()
        if _is_empty(kind, found):  # an empty thought: <think/>
            continue
        if kind.is_end and kind.family in _CHANNELS and len(pieces) > 1:
            pieces.append((False, "\n" if pieces[-1][1] else ""))
            continue
        if kind.is_end:
            pieces[settled:] = [(True, piece) for _, piece in pieces[settled:]]
            settled = len(pieces)
            continue
        end = ends.get(found.start())
        pieces.append((True, text[position : end.start() if end else len(text)]))
        position = end.end() if end else len(text)
        if kind.family in _CHANNELS:
            pieces.append((False, "\n"))
    pieces.append((False, text[position:]))
    if len(pieces) > 1:
        pieces = _with_first_elements_apart(pieces, has_calls)
    families = {kind.family for kind, _ in marks}
    for frame in (frame for family, frame in _FRAMES.items() if family in families):
        pieces = [(is_thought, piece if is_thought else frame.sub("", piece)) for is_thought, piece in pieces]
    return pieces


def _is_empty(kind: _Kind, found: re.Match[str]) -> bool:
    """Returns True for a tag that is a whole thought without any words."""
    return not kind.is_end and found[0].endswith("/>")


class _Kind(NamedTuple):
    """A kind of mark is a family, the name of its tag (for marks that are no tags, the family), and its side."""

    family: str
    name: str
    is_end: bool


_KINDS = {
    f"{side}{number}": _Kind(str(number), str(number), side == "end")
    for number in range(len(MARKS))
    for side in ("begin", "end")
}
"""Kinds of marks by their group in `_MARK`."""
_FAMILY: Callable[[_Kind], str] = attrgetter("family")
_NAME: Callable[[_Kind], str] = attrgetter("name")
_Found = list[tuple[_Kind, re.Match[str]]]
"""Marks in a text, in order."""
_Ends = dict[int, re.Match[str]]
"""Ends of thoughts, by the index where the thought begins."""


def _kind(found: re.Match[str]) -> _Kind:
    return _named(found.lastgroup or "", found["tag"] or found["end_of_tag"])


@lru_cache(maxsize=256)
def _named(group: str, tag: str | None) -> _Kind:
    kind = _KINDS[group]
    return _Kind(kind.family, tag.lower(), kind.is_end) if tag else kind


def _ends_of_thoughts(marks: _Found) -> _Ends:
    """Returns the ends of thoughts. A beginning without an end of its name has an end of its family that no beginning
    of that end's name has.
    """
    ends = _pair(marks, _NAME)
    taken = {end.start() for end in ends.values()}
    left = [each for each in marks if each[1].start() not in (taken if each[0].is_end else ends)]
    return ends | _pair(left, _FAMILY)


def _ends_by_slip(marks: _Found, ends: _Ends) -> _Ends:
    """Returns the ends of thoughts that nothing else ends, where an empty one of the name follows: models write `<think/>`
    for `</think>`.
    """
    empty: dict[str, re.Match[str]] = {}
    slips: _Ends = {}
    for kind, found in reversed(marks):
        if _is_empty(kind, found):
            empty[kind.name] = found
        elif not kind.is_end and found.start() not in ends and kind.name in empty:
            slips[found.start()] = empty[kind.name]
    return slips


def _pair(marks: _Found, by: Callable[[_Kind], str]) -> _Ends:
    """Returns the ends of thoughts among marks that belong together `by` their name or family. An end belongs to the
    last beginning that is open, and one of a channel to all that are. A beginning that stays open has the last end, if one comes after it.
    """
    opened: dict[str, list[int]] = defaultdict(list)
    last: dict[str, re.Match[str]] = {}
    ends: _Ends = {}
    for kind, found in marks:
        key = by(kind)
        if not kind.is_end:
            opened[key].append(found.start())
            continue
        last[key] = found
        if kind.family in _CHANNELS:
            ends |= dict.fromkeys(opened.pop(key, ()), found)
        elif opened[key]:
            ends[opened[key].pop()] = found
    for key, starts in opened.items():
        ends |= {start: last[key] for start in starts if key in last and last[key].start() > start}
    return ends
