"""Cuts a model's answer into its words and its attempts at calls, by the format that a tool parser reads.

vLLM's parsers are all or nothing in different ways: one malformed call makes words of all others, or is dropped without
a word, and many drop the words between and behind calls. So the frames of calls are found here, and each call that the
parser has not read can be read by itself. The parsers' names are vLLM's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ray_gym.deployments.chat.call_pieces import (
    Attempt,
    Between,
    ListOfJson,
    ObjectOfJson,
    Reader,
    read_python_list,
    split_lines,
    split_list,
)

NAMES = "NAMES"
"""Place of the tools' names in the regular expression of a beginning."""
CALL_LIKE = r"(?=\s*(?:[{\[<]|[A-Za-z_][\w.-]*[({]|call:|\Z))"
"""Regular expression of what follows the beginning of a call, and no mention of its mark."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame holds one or more calls in an answer."""

    begin: str
    """Regular expression of its beginning, in which `NAMES` stands for the tools' names."""
    read: Reader
    not_behind: tuple[str, ...] = ()
    """Texts behind which, whitespace aside, nothing begins a frame."""


def _between(begin: str, end: str, **settings: Any) -> Frame:
    """Returns the frame between two marks (see `Between`)."""
    return Frame(re.escape(begin) + CALL_LIKE, Between(begin, end, **settings))


def _tagged(tag: str, **settings: Any) -> Frame:
    return _between(f"<{tag}>", f"</{tag}>", **settings)


def _functions(tag: str) -> tuple[Frame, ...]:
    """Returns the frames of calls <function=NAME><parameter=KEY>VALUE</parameter></function> within <tag></tag>."""
    value = r"<parameter=(?:(?!</function>|<parameter=).)*?</parameter>"
    alone = Between("<function=", "</function>", value, echo=rf"\s*</{tag}>")
    return _tagged(tag, inner=replace(alone, echo="")), Frame(r"<function=(?=[^>\s]+>)", alone)


def _deepseek() -> tuple[Frame, ...]:
    to_json = r"[^<]*<｜tool▁sep｜>(?:[^\n{]*\n```json)?\s*"
    call = Between("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", to_json=to_json)
    return (_between("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", inner=call),)


_HERMES = _tagged("tool_call", to_json=r"\s*")
_HERMES_OF_QWEN = replace(_HERMES, begin="<tool_call>")
"""Frame of models in whose answers every mark begins a call, whatever follows."""
_GLM = Frame(
    rf"<tool_call>(?=\s*(?:(?:{NAMES})\b|[\w.-]+\s*<(?:arg_key|/tool_call)>|[{{\[<]|\Z))",
    Between("<tool_call>", "</tool_call>", r"<arg_value>(?:(?!</tool_call>|<arg_value>).)*?</arg_value>"),
)
_INVOKE = Between("<invoke", "</invoke>", r"<parameter name=(?:(?!</invoke>|<parameter name=).)*?</parameter>")
_KIMI_CALL = Between("<|tool_call_begin|>", "<|tool_call_end|>", to_json=r"[^<]*<\|tool_call_argument_begin\|>\s*")
_OBJECT = (  # it has a tool's name, or any name that parameters follow
    r'\{\s*(?:"type"\s*:\s*"function"\s*,\s*)?"(?:name|function)"\s*:\s*'
    rf'"(?:(?:{NAMES})"\s*(?:[,;\n]|\}}\s*(?:[;`\n]|<\||\Z)|\Z)|[^"\n]*"\s*,\s*"(?:parameters|arguments)")'
)
_LLAMA = Frame(
    rf"(?:```(?:json)?\s*)?(?:<\|python_(?:tag|start)\|>\s*)?(?={_OBJECT})",
    ObjectOfJson(behind=r"(?:\s*(?:;|<\|python_end\|>|```))*"),
    not_behind=("[", ",", '":'),  # it is within other JSON
)
_PYTHON = {"parts": split_list, "brackets": ("[", "]")}
_PYTHON_LIST = Frame(rf"\A\s*\[\s*(?=(?:{NAMES})\()", read_python_list)
_ECHO = r"(?:(?!<\|tool_call_start\|>).)*<\|tool_call_end\|>"
"""Regular expression of calls that a model repeats behind their end, and ends again."""

FRAMES: dict[str, tuple[Frame, ...]] = {
    "hermes": (_HERMES_OF_QWEN,),
    "qwen3_json": (_HERMES_OF_QWEN,),
    "granite4": (_HERMES,),
    "longcat": (_tagged("longcat_tool_call", to_json=r"\s*"),),
    "qwen3_xml": _functions("tool_call"),
    "qwen3_coder": _functions("tool_call"),
    "mimo": _functions("tool_call"),
    "step3p5": _functions("tool_call"),
    "seed_oss": _functions("seed:tool_call"),
    "glm45": (_GLM,),
    "glm47": (_GLM,),
    "minimax_m2": (
        _tagged("minimax:tool_call", inner=_INVOKE),
        Frame("<invoke(?= name=)", replace(_INVOKE, echo=r"\s*</minimax:tool_call>")),
    ),
    "kimi_k2": (_between("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", inner=_KIMI_CALL),),
    "deepseek_v3": _deepseek(),
    "deepseek_v31": _deepseek(),
    "mistral": (
        Frame(r"\[TOOL_CALLS\]\s*\[(?=\s*[{\]])", ListOfJson("[TOOL_CALLS][")),
        Frame(r"\[TOOL_CALLS\]", ObjectOfJson("[TOOL_CALLS]", r"[^{\[]*(?:\[(?:CALL_ID|ARGS)\][^{\[]*)*")),
    ),
    "granite": (Frame(r"(?:<\|tool_call\|>|<tool_call>)\s*\[", ListOfJson("<|tool_call|>[")),),
    "phi4_mini_json": (Frame(r"functools\[", ListOfJson("functools[")),),
    "llama3_json": (_LLAMA,),
    "llama4_json": (_LLAMA,),
    "pythonic": (_PYTHON_LIST,),
    "llama4_pythonic": (_PYTHON_LIST, _between("<|python_start|>", "<|python_end|>", **_PYTHON)),
    "olmo3": (_tagged("function_calls", parts=split_lines),),
    "lfm2": (_between("<|tool_call_start|>", "<|tool_call_end|>", echo=_ECHO, **_PYTHON),),
    "functiongemma": (
        _between(
            "<start_function_call>",
            "<end_function_call>",
            value=r"<escape>(?:(?!<end_function_call>).)*?<escape>",
        ),
    ),
    "gemma4": (_between("<|tool_call>", "<tool_call|>", value=r'<\|"\|>(?:(?!<tool_call\|>).)*?<\|"\|>'),),
}
"""Frames of calls, by the tool parser's name."""
JSON_CALLS = frozenset({"hermes", "qwen3_json", "granite4", "longcat", "granite", "phi4_mini_json", "mistral"})
"""Tool parsers of formats in which a call is {"name": NAME, "arguments": {...}}."""


def cut(tool_parser: str | None, answer: str, names: Sequence[str]) -> tuple[str, list[Attempt]]:
    """Returns the words outside of the frames of calls, in order and as they stand, but stripped; and the attempts at
    calls. Without attempts, or for a parser without an entry in `FRAMES`, returns the answer and [].

    `answer`: answer without its reasoning. `names`: names of the tools. A mark between backquotes is a mention.
    """
    words: list[str] = []
    attempts: list[Attempt] = []
    position = 0
    for _, start, end, read in _frames_in(tool_parser, answer, names):
        words.append(answer[position:start])
        position = end
        attempts += read
    if not attempts:
        return answer, []
    return "".join([*words, answer[position:]]).strip(), attempts


def complete_frames(tool_parser: str | None, text: str, names: Sequence[str]) -> list[tuple[int, int]]:
    """Returns the start and the end of each frame in a text that is closed, so that marks within it are arguments."""
    return [
        (start, end)
        for frame, start, end, _ in _frames_in(tool_parser, text, names)
        if text[start:end].rstrip().endswith(frame.read.end if isinstance(frame.read, Between) else ("}", "]", ")"))
    ]


def _frames_in(
    tool_parser: str | None, text: str, names: Sequence[str]
) -> Iterator[tuple[Frame, int, int, list[Attempt]]]:
    """Yields the frames in a text, in order, each with its start and its end, and the attempts in it."""
    frames = FRAMES.get(tool_parser or "", ())
    begins = [_begin(frame.begin, tuple(names)) for frame in frames]
    position = 0
    while (found := _next(frames, begins, text, position)) is not None:
        frame, begin, start, inside = found
        read, position = frame.read(text, inside, begin)
        yield frame, start, position, read


def has_mark(tool_parser: str | None, answer: str) -> bool:
    """Returns True if a mark of a call's beginning is in an answer. Where it begins none, it is a mention, behind which
    some parsers drop all words.
    """
    reads = [frame.read for frame in FRAMES.get(tool_parser or "", ())]
    return any(isinstance(read, Between) and read.begin in answer for read in reads)


def _next(
    frames: Sequence[Frame], begins: Sequence[str], answer: str, position: int
) -> tuple[Frame, str, int, int] | None:
    """Returns the first frame from `position` on, with the regular expression, the start, and the end of its beginning;
    None if none follows.
    """
    nearest = None
    for frame, begin in zip(frames, begins, strict=True):
        for found in re.compile(begin).finditer(answer, position):
            if _is_mention(answer, *found.span()) or _is_behind(answer, found.start(), frame.not_behind):
                continue
            if nearest is None or found.start() < nearest[2]:
                nearest = (frame, begin, *found.span())
            break
    return nearest


def _is_mention(answer: str, start: int, end: int) -> bool:
    return start > 0 and answer[start - 1] == "`" == answer[end : end + 1]


def _is_behind(answer: str, start: int, texts: tuple[str, ...]) -> bool:
    return bool(texts) and answer[max(0, start - 1000) : start].rstrip().endswith(texts)


@lru_cache(maxsize=512)
def _begin(begin: str, names: tuple[str, ...]) -> str:
    return begin.replace(NAMES, "|".join(map(re.escape, names)))
