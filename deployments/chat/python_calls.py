"""Parts calls that are written as Python, and writes each so that vLLM's parsers read all of its arguments.

These parsers take the names of arguments as they come: one without a name is dropped, and of two with one name the first
is lost. Some cut a call at each line break, also within a string.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection
from itertools import islice

NEVER = r"(?!)"
"""Regular expression that matches nothing."""
MOST_MERGED = 8
"""Pieces between commas that are tried as one call: a string in it may hold what looks like another call."""
MOST_BRACKETS = 20
"""Brackets that are tried as the end of a list of Python calls."""
LONG_STRING = r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\''
"""Regular expression of a string of Python between three quotes."""
STRING = rf'{LONG_STRING}|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\''
"""Regular expression of a string of Python, also of one with a line break that should be escaped."""

_CALL = r"[^\W\d][\w./-]*\("
_NEXT_CALL = rf",\s*(?={_CALL})"
_NEXT_LINE = rf"(?:,\s*|\n[^\S\n]*)(?={_CALL})"
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_BREAKS = {"\n": "\\n", "\r": "\\r"}
_MALFORMED_ENDS = [re.compile(rf"{end}(?=[^\S\n]*(?:\n|\Z))") for end in (r"\)\s*\]", r"\]")]
_COMMENTS = re.compile(r"(?m)(?:^|(?<=\s))#[^\n]*")
_GOES_ON = tuple("`.,;:!?)]}\"'=(+*/|-…、。")
"""Characters behind a list with which a sentence goes on, so that the list is a mention."""
_PLACEHOLDER = re.compile(r"=\s*(?:\.\.\.|…|<\w)")
_FENCE = re.compile(r"\s*```")
_OPENED = re.compile(r"```(\w*)\s*\Z")
_UNNAMED = re.compile(r"\s*[A-Za-z_][\w.-]*\(\s*(?:[\"'\d\[{*-]|[rfbu]+[\"'])", re.IGNORECASE)


def split_calls(text: str, border: str = _NEXT_CALL) -> list[str]:
    """Returns the calls in a text of Python calls with commas between them. What is no call is left with the call before
    it, unless it is whole items of a list behind a whole call, which are one more. `border`: regular expression of what is
    before each call but the first.
    """
    pieces: list[str] = []
    first = 0
    while first < len(text):
        tries = {*_ends(text, border, first), *_ends(text, border, first, STRING)}
        whole = (end for end in sorted(tries) if _is_call(_without_comma(text[first : end[0]])))
        stop, following = next(whole, None) or _ends(text, border, first, LONG_STRING)[0]
        pieces += _with_items_apart(_without_comma(text[first:stop]))
        first = following
    return [piece for piece in pieces if piece]


def _with_items_apart(piece: str) -> list[str]:
    """Returns a call that other items of a list follow, or a comment, as the call and these items; others as they are."""
    if _is_call(piece):
        return [piece]
    places = _places(piece, r"\)(?=\s*[,\n#]|[^\S\n]+#)", 0, MOST_BRACKETS)
    end = next((end for _, end in places if _is_call(piece[:end])), None)
    if end is None:
        return [piece]
    rest = _COMMENTS.sub("", piece[end:]).strip(" \t\n,")
    return [piece[:end], *([rest] if rest else [])] if _are_whole(rest) else [piece]


def _are_whole(text: str) -> bool:
    """Says whether each string and bracket in a text is closed. The rest of a string that had a quote in it has a bracket
    more at its end.
    """
    opened: list[str] = []
    for sign in re.findall(r"[^\w\s]", re.sub(STRING, "", text, flags=re.DOTALL)):
        if sign in _CLOSING:
            opened.append(_CLOSING[sign])
        elif sign in "\"'" or (sign in ")]}" and (not opened or opened.pop() != sign)):
            return False
    return not opened


def split_list(text: str) -> list[str]:
    """Returns the calls in a text that is a list of Python calls, of which a bracket may be missing."""
    return split_calls(text.strip().removeprefix("[").removesuffix("]"))


def split_lines(text: str) -> list[str]:
    """Returns the calls in a text of Python calls, one a line, or several with commas between them."""
    return split_calls(text.strip(), _NEXT_LINE)


def spell_call(call: str) -> str | None:
    """Returns a Python call as a parser reads it with all of its arguments: in one line. Returns None if no parser does,
    since an argument has no name, or the same name as another.
    """
    parsed = _parse(call)
    if len(parsed) != 1:
        return None if _UNNAMED.match(call) else call
    if _loses_arguments(parsed[0]):
        return None
    return call if len(call.splitlines()) < 2 else ast.unparse(parsed[0])


def spell_as_json(call: str) -> str | None:
    """Returns a call NAME.call(KEY=VALUE) as JSON; None if it is none, or has arguments without a name or a value."""
    parsed = _parse(call)
    if len(parsed) != 1 or not isinstance(parsed[0].func, ast.Attribute):
        return None
    given = _arguments_as_json(parsed[0])
    name = json.dumps(ast.unparse(parsed[0].func.value), ensure_ascii=False)
    return None if given is None else f'{{"name": {name}, "parameters": {given}}}'


def read_named(call: str, names: Collection[str]) -> tuple[str, str] | None:
    """Returns the name of a tool and the arguments as JSON, as a Python call of it has them. The name may be none of Python's
    (fs/read-file), or of other letters than ASCII's, which the parsers do not read. Returns None for any other call, and one
    that `spell_as_json` does not read.
    """
    name, bracket, inside = call.partition("(")
    parsed = _parse(f"call{bracket}{inside}") if name.strip() in names else []
    given = _arguments_as_json(parsed[0]) if len(parsed) == 1 else None
    return None if given is None else (name.strip(), given)


def _is_call(text: str) -> bool:
    """Returns True if a text is one Python call, but for its name, which may be that of any tool."""
    return count_calls(re.sub(rf"\A\s*{_CALL}", "call(", text)) == 1


def _arguments_as_json(call: ast.Call) -> str | None:
    """Returns the arguments of a call as JSON; None if one has no name or no value, or would be lost."""
    if _loses_arguments(call):
        return None
    try:
        given = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        return json.dumps(given, ensure_ascii=False)
    except (ValueError, TypeError):
        return None


def count_calls(text: str) -> int:
    """Returns the number of Python calls with commas between them that a text is; 0 if it is something else."""
    return len(_parse(text))


def find_call_end(text: str, start: int) -> int:
    """Returns the index behind the Python call that begins at `start`. A malformed one ends with its line."""
    places = {*_places(text, r"\)", start, MOST_BRACKETS), *_places(text, r"\)", start, MOST_BRACKETS, STRING)}
    line = text.find("\n", start)
    malformed = line if line >= 0 else len(text)
    return next((end for _, end in sorted(places) if count_calls(text[start:end]) == 1), malformed)


def find_list_end(text: str, start: int, again: str) -> tuple[int, int]:
    """Returns the index where the inside of a list of Python calls ends that begins at `start`, and the index behind the
    list. A malformed list ends with a bracket that ends a line, or where a line begins another list, or else with the text.

    `again`: regular expression of beginnings.
    """
    beginnings = _places(text, again, start, MOST_BRACKETS)
    limit = beginnings[-1][0] if len(beginnings) == MOST_BRACKETS else len(text)
    places = {*_places(text, r"\]", start, MOST_BRACKETS), *_places(text, r"\]", start, MOST_BRACKETS, STRING)}
    for stop, end in sorted(places):
        if end <= limit and count_calls(text[start:stop]):
            return stop, end
    line = next((begin for begin, _ in beginnings if begins_line(text, begin)), limit)
    malformed = next(filter(None, (end.search(text, start, line) for end in _MALFORMED_ENDS)), None)
    return (malformed.end() - 1, malformed.end()) if malformed else (line, line)


_IN_CODE = re.compile(r"(?:[\w)]|(?:^|(?<=\W))(?:return|yield|in|await|print)\s+|(?:^|(?<=\n))[ \t]*>[ \t]*)\Z")
"""Code before a list that is no call's, or the mark of a quotation."""


def _goes_on(rest: str) -> bool:
    """Says whether other code follows a list in its code block, or a sentence goes on behind the block."""
    block, _, behind = rest.partition("```")
    has_code = any(not line.strip().startswith("[") for line in block.splitlines() if line.strip(" \t,;"))
    return has_code or behind.lstrip()[:1].islower()


def _block_before(text: str) -> bool:
    """Says whether a text ends within a code block that has other lines than lists."""
    _, mark, block = text.rpartition("```")
    if not mark or text.count("```") % 2 == 0:
        return False
    lines = [line.strip() for line in block.splitlines()[1:] if line.strip()]
    return any(not line.startswith("[") for line in lines)


def _opens_block(text: str, start: int) -> bool:
    """Says whether the mark of a code block's beginning is before an index. One without a language has an end."""
    opened = _OPENED.search(text, max(0, start - 40), start)
    if opened is None or text.count("```", 0, start) % 2 == 0:
        return False
    return bool(opened[1]) or "```" in text[start:]


def is_called(text: str, start: int, inside: int, again: str) -> bool:
    """Returns True if a list of Python calls is meant to be called, and not mentioned: it begins the text, a code block
    or a line, or its end is one of a sentence. `start`: index where it begins; `inside`: index behind its bracket.
    """
    if _opens_block(text, start):
        return not _goes_on(text[find_list_end(text, inside, again)[1] :])
    if not text[:start].strip() or text[start] != "[":  # another mark is before it
        return True
    if _IN_CODE.search(text, max(0, start - 20), start) or _block_before(text[:start]):
        return False
    line = text[text.rfind("\n", 0, start) + 1 : start].strip()
    if line.endswith(("=", "(", "[")):  # it is within other Python
        return False
    stop, end = find_list_end(text, inside, again)
    if stop == end:  # it has no bracket at its end
        return not line or (text.count("[", inside) < MOST_BRACKETS and count_calls(text[inside:stop]) > 0)
    if line and (_PLACEHOLDER.search(text, inside, stop) or not _is_whole(text[inside:stop])):
        return False
    follows = text[end:].lstrip(" \t")[:1]
    is_last = text.count("```", 0, end) % 2 and _FENCE.match(text, end)  # of its code block
    return (
        bool(is_last)
        or end_of_list(text, end, again) > end
        or not (follows.islower() or follows.isdigit() or follows in _GOES_ON)
    )


def end_of_list(text: str, end: int, again: str) -> int:
    """Returns the index behind what belongs to a list that ends at `end`: what is between it and another list."""
    between = re.compile(rf"\s*[,;]\s*(?={again})", re.DOTALL).match(text, end)
    return between.end() if between else end


def begins_line(text: str, start: int) -> bool:
    """Returns True if nothing but whitespace is before `start` in its line."""
    return not text[text.rfind("\n", 0, start) + 1 : start].strip()


def _is_whole(inside: str) -> bool:
    return "\n" not in inside or count_calls(inside) > 0


def _parse(text: str) -> list[ast.Call]:
    """Returns the Python calls with commas between them that a text is; [] if it is something else. In its strings, line
    breaks that should be escaped are read as such.
    """
    for each in dict.fromkeys((text, re.sub(STRING, _escape_breaks, text, flags=re.DOTALL))):
        try:
            parsed = ast.parse(f"[{each.strip()}]", mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        items = parsed.elts if isinstance(parsed, ast.List) else []
        calls = [item for item in items if isinstance(item, ast.Call) and not isinstance(item.func, ast.Call)]
        if items and len(calls) == len(items):
            return calls
    return []


def _loses_arguments(call: ast.Call) -> bool:
    """Returns True if an argument has no name, or if one name, or one key of a dict, is given twice."""
    dicts = [node for node in ast.walk(call) if isinstance(node, ast.Dict)]
    keys = [[ast.dump(key) if key else None for key in node.keys] for node in dicts]
    names = [[keyword.arg for keyword in call.keywords], *keys]
    return bool(call.args) or any(None in each or len(set(each)) < len(each) for each in names)


def _escape_breaks(string: re.Match[str]) -> str:
    if string[0].startswith(('"""', "'''")):
        return string[0]
    return re.sub(r"\\.|[\r\n]", lambda found: _BREAKS.get(found[0], found[0]), string[0], flags=re.DOTALL)


def _ends(text: str, border: str, start: int, beside: str = NEVER) -> list[tuple[int, int]]:
    """Returns where the call that begins at `start` may end, as (index of its end, index of the next call)."""
    found = _places(text, border, start, MOST_MERGED, beside)
    return found if len(found) == MOST_MERGED else [*found, (len(text), len(text))]


def _places(text: str, pattern: str, start: int, most: int, beside: str = NEVER) -> list[tuple[int, int]]:
    """Returns the starts and ends of the first `most` matches of a regular expression behind `start`. Those within a match
    of `beside` are left out.
    """
    matches = re.compile(rf"(?:{beside})|(?P<place>{pattern})", re.DOTALL).finditer(text, start)
    return [found.span() for found in islice((found for found in matches if found["place"] is not None), most)]


def _without_comma(piece: str) -> str:
    return piece.strip().removesuffix(",").rstrip()
