"""Cuts a model's answer into its words and its attempts at calls, by the format that a tool parser reads.

vLLM's parsers are all or nothing in different ways: one malformed call makes words of all others, or is dropped without
a word, and many drop the words between and behind calls. So the frames of calls are found here, and each call that the
parser has not read can be read by itself. The parsers' names are vLLM's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from ray_gym.deployments.chat import escaped_calls
from ray_gym.deployments.chat.call_examples import is_no_example
from ray_gym.deployments.chat.call_pieces import (
    Attempt,
    Between,
    ListOfJson,
    ObjectOfJson,
    Reader,
    Suffixed,
    read_python_call,
    read_python_list,
    split_json,
    split_named_json,
    split_whole_json,
)
from ray_gym.deployments.chat.call_spelling import unwrap_function
from ray_gym.deployments.chat.python_calls import NEVER, is_called, spell_call, split_lines, split_list
from ray_gym.deployments.chat.quoted_marks import STRING, hide
from ray_gym.deployments.chat.quoted_tags import Tags, hide_quoted
from ray_gym.deployments.chat.unopened_calls import is_whole, is_whole_inside

NAMES = "NAMES"
"""Place of the tools' names in the regular expression of a beginning."""
CALL_LIKE = (
    r"(?=\s*(?:[{\[<]|[A-Za-z_][\w.-]*(?:[({]|\s*<parameter\b)|[A-Za-z_][\w.:-]*<[|｜]"
    rf"|(?:{NAMES})(?:\(|[ \t]*(?:[\n<{{]|\Z))|call:|\Z))"
)
"""Regular expression of what follows the beginning of a call, and no mention of its mark."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame holds one or more calls in an answer."""

    begin: str
    """Regular expression of its beginning, in which `NAMES` stands for the tools' names."""
    read: Reader
    not_behind: tuple[str, ...] = ()
    """Texts behind which, whitespace aside, nothing begins a frame."""
    not_within: tuple[str, str] | None = None
    """Marks of a thought's beginning and end, between which nothing begins a frame."""
    when: Callable[[str, int, int, str], bool] | None = None
    """Returns True if a beginning begins a frame. Takes the answer, its start and end, and `begin` with the names."""
    again: str | None = None
    """Regular expression of what ends a malformed call, too, and does not belong to it; None means `begin`."""


def _between(begin: str, end: str, **settings: Any) -> Frame:
    """Returns the frame between two marks (see `Between`)."""
    is_name_alone = rf"(?=\s*[A-Za-z_][\w.-]*\s*{re.escape(end)})"
    inner = settings.get("inner")
    has_words = _words_before(re.escape(inner.begin), re.escape(inner.end)) if inner else NEVER
    return Frame(rf"{_once_or_more(begin)}(?:{CALL_LIKE}|{is_name_alone}|{has_words})", Between(begin, end, **settings))


def _words_before(call: str, end: str) -> str:
    """Returns the regular expression of what follows the beginning of a frame in which words are before the first call: on
    lines of their own, or before a call that is ended. `call`, `end`: regular expressions of a call's beginning and end.
    """
    before = rf"[^<>|{{}}\[\]()]{{1,400}}(?:{call})"
    return rf"(?=[ \t\r]*\n{before}|{before}[\s\S]{{1,4000}}?(?:{end}))"


def _once_or_more(begin: str) -> str:
    """Returns the regular expression of a mark that begins a call, which models repeat."""
    return rf"{re.escape(begin)}(?:\s*{re.escape(begin)})*+"


def _tagged(tag: str, **settings: Any) -> Frame:
    return _between(f"<{tag}>", f"</{tag}>", **settings)


def _argument_tags(mark: str = "", end: str = ">") -> Tags:
    """Returns the tags of calls <tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>. `mark`:
    beginning of the names of all tags. `end`: end of all tags.
    """
    value, call = f"{mark}arg_value{end}", f"{mark}tool_call{end}"
    return Tags(f"<{value}", f"</{value}", f"<{call}", f"</{call}", rf"</?{re.escape(mark)}(?:arg|tool)_")


def _parameter_tags(mark: str, around: str) -> Tags:
    """Returns the tags of calls <invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>. `mark`: beginning of
    the names of all tags. `around`: regular expression of the names of tags around the calls.
    """
    value, call = f"{mark}parameter", f"{mark}invoke"
    marks = rf"</?(?:{value}|{call}|{around})"
    return Tags(f"<{value} ", f"</{value}>", f"<{call}", f"</{call}>", marks)


def _calls_of(tags: Tags) -> Between:
    """Returns the reader of calls with such tags."""
    return Between(tags.call_begin, tags.call_end, tags.value, spell=tags.hide)


def _functions(tag: str) -> tuple[Frame, ...]:
    """Returns the frames of calls <function=NAME><parameter=KEY>VALUE</parameter></function> within <tag></tag>."""
    tags = Tags("<parameter=", "</parameter>", "<function=", "</function>", rf"</?(?:{tag}|function|parameter)\b")
    call = _calls_of(tags)
    alone = replace(call, echo=rf"\s*</{tag}>")
    return _tagged(tag, inner=call, spell=call.spell), Frame(r"<function=(?=[^>\s]+>)", alone)


def _deepseek() -> tuple[Frame, ...]:
    to_json = r"[^<]*<｜tool▁sep｜>(?:[^\n{]*\n```json)?\s*"
    call = Between("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", to_json=to_json)
    return (_between("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", inner=call),)


def _dsml(space: str, *tags: str) -> tuple[Frame, ...]:
    """Returns the frames of calls in DeepSeek's markup: <｜DSML｜invoke name="NAME"> within one of the tags, of which the
    first is the right one, or alone.
    """
    mark = f"｜DSML｜{space}"
    invoke = _calls_of(_parameter_tags(mark, mark))
    tagged = [_between(f"<{mark}{tag}>", f"</{mark}{tags[0]}>", inner=invoke, spell=invoke.spell) for tag in tags]
    return *tagged, Frame(rf"<{mark}invoke(?=\s+name=)", replace(invoke, echo=rf"\s*</{mark}{tags[0]}>"))


def _hunyuan(suffix: str) -> Between:
    """Returns the reader of calls within <tool_calls>. `suffix`: text with which every tag of the checkpoint ends."""
    call = _calls_of(_argument_tags(end=f"{suffix}>"))
    return Between(f"<tool_calls{suffix}>", f"</tool_calls{suffix}>", inner=call, spell=call.spell)


def _unopened(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """Returns the frames of calls that lack the mark of their beginning, in a format whose frames with marks are `frames`;
    () if nothing else tells them from words.
    """
    read = frames[0].read
    if isinstance(read, Suffixed):
        return (_unopened_with_suffix(read),)
    if len(frames) > 1 or not isinstance(read, Between):
        return ()
    begin = re.escape(read.inner.begin) + _INNER_LIKE if read.inner else ""
    inner = [Frame(begin, read.alone(), when=partial(is_whole_inside, read.inner))] if read.inner else []
    if inner and read.to_json is None:
        return tuple(inner)
    return *inner, replace(frames[0], begin=_UNOPENED, when=partial(is_whole, read), again=re.escape(read.begin))


def _unopened_with_suffix(read: Suffixed) -> Frame:
    """Returns the frame of calls with marks of their own that lack the mark around them, in a format with suffixes."""
    alone = Suffixed("<tool_call", lambda suffix: read.make(suffix).alone())

    def is_ended(text: str, start: int, end: int, begin: str) -> bool:
        return is_whole_inside(alone.reader(text, end), text, start, end, begin)

    return Frame(r"<tool_call(?::[^\s<>]+)?>" + _INNER_LIKE, alone, when=is_ended)


_INNER_LIKE = r"(?=\s*(?:[\w.:-]*\s*[<{\[]|\w+=))"
"""Regular expression of what follows the mark of one of several calls, and no mention of it."""
_UNOPENED = (  # it begins a line, has a tool's name, or an argument
    rf'(?m:^)[^\S\n]*(?=\{{\s*"|\[\s*(?:\{{|(?:{NAMES})\()|(?:{NAMES})\s*(?:\(|</tool_call>)|call:\w)'
    rf'|(?=\{{\s*"name"\s*:\s*"(?:{NAMES})"|(?<![\w.-])[\w.-]+\s*<arg_key>)'
)
"""Regular expression of what begins a call that lacks the mark of its beginning."""

_HERMES = _tagged("tool_call", to_json=r"\s*", parts=split_whole_json)
_HERMES_OF_QWEN = replace(_HERMES, begin=_once_or_more("<tool_call>"))
"""Frame of models in whose answers every mark begins a call, whatever follows."""
_GLM = Frame(
    rf"{_once_or_more('<tool_call>')}(?=\s*(?:(?:{NAMES})\b|[\w.-]+\s*<(?:arg_key|/tool_call)>|[{{\[<]|\Z))",
    _calls_of(_argument_tags()),
)
_INVOKE = _calls_of(_parameter_tags("", "minimax:tool_call|dots_function_call"))
_KIMI_CALL = Between("<|tool_call_begin|>", "<|tool_call_end|>", to_json=r"[^<]*<\|tool_call_argument_begin\|>\s*")
_OBJECT = (  # it has a tool's name, or any name that parameters follow
    r'\{\s*(?:"type"\s*:\s*"function"\s*,\s*)?"(?:name|function)"\s*:\s*'
    rf'"(?:(?:{NAMES})"\s*(?:[,;\n]|\}}\s*(?:[;`\n]|<\||\Z)|\Z)|[^"\n]*"\s*,\s*"(?:parameters|arguments)")'
)
_NO_SCHEMA = r'(?!\s*\{\s*"(?:type"\s*:\s*"object|properties|\$schema|\$ref)")'
_FUNCTION_NAME = r'\{\s*(?:"(?:type|id)"\s*:\s*"[^"\n]*"\s*,\s*)*"function"\s*:\s*\{\s*"name"\s*:\s*"[^"\n]*"\s*'
_FUNCTION = (  # it has parameters, and no description, as the definition of a tool has
    rf'{_FUNCTION_NAME}(?:,\s*"(?:parameters|arguments)"\s*:{_NO_SCHEMA}|\}}\s*[,}}])'
)
_LLAMA_JSON = Frame(
    rf'(?:<\|python_(?:tag|start)\|>\s*)?(?<!":)(?<!": )(?={_OBJECT}|{_FUNCTION})',
    ObjectOfJson(behind=r"(?:\s*(?:;|<\|python_end\|>))*", spell=unwrap_function),
    not_behind=("[", ",", '":'),  # it is within other JSON
    when=is_no_example,
)
_LLAMA_CALL = Frame(
    rf"(?:\A\s*(?=(?:{NAMES})\.)|(?<!`)<\|python_tag\|>\s*)(?=[A-Za-z_]\w*\.call\(\s*(?:\)|[A-Za-z_]\w*\s*=|[\"'\d*]))"
    r"(?=[^(]*\((?:[^\n]*\)\s*(?:[;\n]|<\||\Z)|[\s\S]*\)\s*(?:;|<\||\Z)))",  # nothing else is on its line
    read_python_call,
)
"""Frame of a call as Llama 3.1 writes those of its built-in tools."""
_LLAMA = (_LLAMA_JSON, _LLAMA_CALL)
_MISTRAL = ObjectOfJson(
    "[TOOL_CALLS]",
    r"[^{\[]*(?:\[(?:CALL_ID|ARGS)\][^{\[]*)*",
    more=r'(?<=\})[\s,;]*(?=[A-Za-z_][\w.-]*(?:\[(?:CALL_ID|ARGS)\]|\{\s*["}])|\{\s*"name"\s*:)',
    own_id=r"[^{\[]*\[CALL_ID\]\s*([A-Za-z0-9]{9})\s*[{\[]",
    spell=lambda call: re.sub(r"\A([^{\[]*)\[CALL_ID\][^{\[]*", r"\1", call),  # the parser takes the id for a name
)
_PYTHON = {"parts": split_list, "brackets": ("[", "]"), "spell": spell_call}
_PYTHON_STRING = rf"[=\[({{,:]\s*{STRING}"
_PYTHON_LIST = Frame(
    rf"(?:\A\s*\[\s*(?=(?:{NAMES})\()|(?<!(?<!``)`)(?:<\|python_tag\|>\s*)?"
    rf"\[\s*(?=(?:{NAMES})\(\s*(?:\)|[A-Za-z_]\w*\s*=|[\"'\d\[{{*-])))",
    read_python_list,
    when=is_called,
)
_ENDS_OF_TAGS = r"(?:\s*</tool_call>)*"
_JSON_LIST = {"to_json": r"\s*", "parts": split_json, "brackets": ("[", "]")}
_OBJECT_OF_XLAM = (  # it has a tool's name, or any name that arguments follow
    rf'\{{\s*"name"\s*:\s*"(?:(?:{NAMES})"\s*(?:,\s*"(?:arguments|parameters)"\s*:{_NO_SCHEMA}|\}}\s*,[^\]]*"arguments"\s*:)'
    r'|[^"\n]*"\s*,\s*"arguments"\s*:)'
)
_OTHER_ITEMS = r"(?:(?:\{(?:[^{}]|\{[^{}]{0,999}+\}){0,999}+\}|null)\s*,\s*){0,9}?"
"""Regular expression of items of a list, before one that has the keys of a call."""
_JSON_LIST_OF_XLAM = Frame(
    rf"(?<!`)(?:\[TOOL_CALLS\]\s*)?\[(?=\s*(?:{_OTHER_ITEMS}(?:{_OBJECT_OF_XLAM})|{_FUNCTION_NAME},\s*\"arguments\"))",
    ListOfJson("[", behind=_ENDS_OF_TAGS),
    not_behind=("[", ",", '":'),
)
_HUNYUAN = Frame(
    rf"<tool_calls(?::[^\s<>]+)?>(?:{CALL_LIKE}|{_words_before('<tool_call[:>]', '</tool_call[:>]')})",
    Suffixed("<tool_calls", _hunyuan),
)
_IFM_CALL = replace(_calls_of(_argument_tags("ifm|")), to_json=r"\s*")
_PLAMO_CALL = Between(
    "<|plamo:begin_tool_request:plamo|>", "<|plamo:end_tool_request:plamo|>", to_json=r"[^{]*<\|plamo:msg\|>\s*"
)
_STEP = _parameter_tags("steptml:", "｜tool_")
_GEMMA = Tags('<|"|>', '<|"|>', "<|tool_call>", "<tool_call|>", r'<\|"\|>|<\|tool_call>|<tool_call\|>')
_KIMI_K3 = Tags(
    "<|open|>argument", "<|close|>argument<|sep|>", "<|open|>call", "<|close|>call<|sep|>", r"<\|(?:open|close)\|>"
)
_MINIMAX = r"\]<\]minimax\[>\["
_MINIMAX_QUOTING = (  # the calls that it quotes have all of their marks
    rf"{_MINIMAX}<(?P<key>(?!invoke\b|tool_call\b)[\w.:-]+)>(?:(?!{_MINIMAX}).)*"
    rf"(?:{_MINIMAX}<(?P<call>invoke|tool_call)\b(?:(?!{_MINIMAX}</?(?P=call)\b).)*{_MINIMAX}</(?P=call)>(?:(?!{_MINIMAX}).)*)+"
    rf"{_MINIMAX}</(?P=key)>"
)
"""Regular expression of a value of MiniMax M3 that quotes calls."""
_ATEM_INVOKE = _calls_of(_parameter_tags("atem:", r"atem:|\|"))
_MESSAGE_TO = r"(?:<\|start\|>\s*assistant)?[^\S\n]{0,9}to="
"""Regular expression of the beginning of a message's header in the channels of muse_glimmer."""
_LIST_LIKE = r"(?=\s*(?:[{\[\]]|\w+\s*\(|\"(?:name|type|function|arguments|parameters)\"|\Z))"
"""Regular expression of what follows the beginning of a list of calls, and no index."""
_ECHO = r"(?:(?!<\|tool_call_start\|>).)*<\|tool_call_end\|>"
"""Regular expression of calls that a model repeats behind their end, and ends again."""

_OPENED: dict[str, tuple[Frame, ...]] = {
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
        _tagged("minimax:tool_call", inner=_INVOKE, spell=_INVOKE.spell),
        Frame("<invoke(?= name=)", replace(_INVOKE, echo=r"\s*</minimax:tool_call>")),
    ),
    "kimi_k2": (_between("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", inner=_KIMI_CALL),),
    "deepseek_v3": _deepseek(),
    "deepseek_v31": _deepseek(),
    "mistral": (
        Frame(r"\[TOOL_CALLS\]\s*\[(?=\s*[{\]])", ListOfJson("[TOOL_CALLS][")),
        Frame(r"\[TOOL_CALLS\]", _MISTRAL),
    ),
    "granite": (Frame(r"(?:<\|tool_call\|>|<tool_call>)\s*\[", ListOfJson("<|tool_call|>[", behind=_ENDS_OF_TAGS)),),
    "phi4_mini_json": (Frame(rf"functools\[{_LIST_LIKE}", ListOfJson("functools[", keys=("arguments", "parameters"))),),
    "llama3_json": _LLAMA,
    "llama4_json": _LLAMA,
    "pythonic": (_PYTHON_LIST,),
    "llama4_pythonic": (
        _PYTHON_LIST,
        _between("<|python_start|>", "<|python_end|>", value=_PYTHON_STRING, **_PYTHON),
    ),
    "olmo3": (_tagged("function_calls", parts=split_lines, spell=spell_call),),
    "lfm2": (_between("<|tool_call_start|>", "<|tool_call_end|>", value=_PYTHON_STRING, echo=_ECHO, **_PYTHON),),
    "functiongemma": (
        _between(
            "<start_function_call>",
            "<end_function_call>",
            value=escaped_calls.TAGS.value,
        ),
    ),
    "gemma4": (_between("<|tool_call>", "<tool_call|>", value=_GEMMA.value, spell=_GEMMA.hide),),
    "ernie45": (_HERMES,),
    "internlm": (_between("<|action_start|><|plugin|>", "<|action_end|>", to_json=r"\s*"),),
    "granite-20b-fc": (Frame("<function_call>" + CALL_LIKE, ObjectOfJson("<function_call>", r"\s*")),),
    "gigachat3": (
        Frame(
            r"(?:<\|message_sep\|>\s*)?(?:function call<\|role_sep\|>\n|<\|function_call\|>)" + CALL_LIKE,
            ObjectOfJson("<|function_call|>", r"\s*", r"(?:\s*(?:<\|message_sep\|>|</s>))*", end=r"<\|message_sep\|>"),
        ),
    ),
    "jamba": (_tagged("tool_calls", **_JSON_LIST),),
    "hunyuan_a13b": (replace(_tagged("tool_calls", **_JSON_LIST), not_within=("<think>", "</think>")),),
    "xlam": (_tagged("tool_call", **_JSON_LIST), _JSON_LIST_OF_XLAM),
    "apertus": (_between("<|tools_prefix|>", "<|tools_suffix|>", **{**_JSON_LIST, "parts": split_named_json}),),
    "inkling": (
        Frame(
            rf"(?:\A(?:{NAMES})|<\|message_model\|>[^<]*)?<\|content_invoke_tool_json\|>" + CALL_LIKE,
            Between("<|content_invoke_tool_json|>", "<|end_message|>", to_json=r"\s*"),
        ),
    ),
    "plamo3": (
        _between("<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>", inner=_PLAMO_CALL),
    ),
    "ling3": (_GLM,),
    "poolside_v1": (_GLM,),
    "hy_v3": (_HUNYUAN,),
    "hy_v4": (_HUNYUAN,),
    "k2_horizon": (_tagged("ifm|tool_calls", inner=_IFM_CALL, spell=_IFM_CALL.spell),),
    "deepseek_v32": _dsml("", "function_calls"),
    "deepseek_v4": _dsml("", "tool_calls", "toolcalls", "tool"),
    "deepseek_v41": _dsml(" ", "calls"),
    "dots": (_tagged("dots_function_call", to_json=r"\s*", inner=_INVOKE, spell=_INVOKE.spell),),
    "minimax_m3": (
        Frame(
            rf"{_MINIMAX}<tool_call>(?:(?=\s*(?:{_MINIMAX}|[<{{]|\Z))|{_words_before(f'{_MINIMAX}<invoke', f'{_MINIMAX}</invoke')})",
            Between(
                "]<]minimax[>[<tool_call>",
                "]<]minimax[>[</tool_call>",
                inner=Between("]<]minimax[>[<invoke", "]<]minimax[>[</invoke>", _MINIMAX_QUOTING),
                spell=lambda call: hide_quoted(call, _MINIMAX_QUOTING, _MINIMAX),
            ),
        ),
    ),
    "minicpm5": (
        Frame(
            r"<function(?=\s*name\s*=|[^<>]*>\s*<param)",
            _calls_of(Tags("<param", "</param>", "<function", "</function>", r"<(?!!\[CDATA\[)")),
        ),
    ),
    "step3": (
        _between(
            "<｜tool_calls_begin｜>",
            "<｜tool_calls_end｜>",
            inner=Between("<｜tool_call_begin｜>", "<｜tool_call_end｜>", _STEP.value),
            spell=_STEP.hide,
        ),
    ),
    "kimi_k3": (
        _between("<|open|>tools<|sep|>", "<|close|>tools<|sep|>", inner=_calls_of(_KIMI_K3), spell=_KIMI_K3.hide),
    ),
    "muse_glimmer": (
        Frame(
            rf"{_MESSAGE_TO}(?!(?:self|user)<)[\w.-]+<\|message\|>(?:\s*<atem:function_calls>)?",
            Between("<|start|>assistant to=tool<|message|>", "<|eom|>", inner=_ATEM_INVOKE, spell=_ATEM_INVOKE.spell),
        ),
    ),
}
"""Frames of calls that have the mark of their beginning, by the tool parser's name."""
_REST_OF_MENTION = re.compile(r"[\w./:=-]{0,80}>?`")
"""Rest of what is between backquotes, as of `<function=note>`."""
_ENDS_WORDS = ("inkling", "muse_glimmer")
"""Tool parsers of formats in which words end with the mark that ends a call."""
FRAMES = {
    parser: frames if parser in _ENDS_WORDS else (*frames, *_unopened(frames)) for parser, frames in _OPENED.items()
}
"""Frames of calls, by the tool parser's name. These of vLLM's parsers have none: `openai` reads the channels of gpt-oss by
their tokens, `hf` goes by the checkpoint's response template, and `cohere_command3` and `cohere_command4` leave the whole
answer to the package cohere_melody.
"""
_CALL_STOOD_HERE = "\ufdd2"
"""Stands for a frame of calls: a noncharacter of Unicode, which no text has."""
_FENCE = re.compile(r"`{3,}")
_BLOCK_OF_CALLS = re.compile(
    rf"(?<!`)(?P<fence>`{{3,}})[\w+#-]*\s*{_CALL_STOOD_HERE}[\s{_CALL_STOOD_HERE}]*(?:(?P=fence)`*(?!\w)|\Z)"
)
JSON_CALLS = frozenset(
    {
        *("hermes", "qwen3_json", "granite4", "longcat", "granite", "phi4_mini_json", "mistral", "ernie45", "internlm"),
        *("granite-20b-fc", "gigachat3", "jamba", "hunyuan_a13b", "xlam", "k2_horizon", "dots"),
    }
)
"""Tool parsers of formats in which a call is, or may be, {"name": NAME, "arguments": {...}}."""
PYTHON_CALLS = frozenset({"pythonic", "llama4_pythonic", "olmo3", "lfm2"})
"""Tool parsers of formats in which a call is NAME(KEY=VALUE)."""
NO_WORDS = {
    "ernie45": r"\A\s*</think>|(?:\A|(?<=</think>))\s*<response>|</response>\s*\Z",
    "hunyuan_a13b": r"\A\s*</think>|(?:\A|(?<=</think>))\s*<answer>|</answer>\s*\Z",
    "gigachat3": r"<\|message_sep\|>|</s>\s*\Z",
    "plamo3": r"<\|plamo:(?:end_think:plamo|tag)\|>",
    "kimi_k3": r"<\|(?:open|close)\|>\s*(?:response|message)\s*<\|sep\|>",
    "inkling": r"<\|content_thinking\|>.*?(?:<\|end_message\|>|\Z)|(?:<\|message_model\|>[^<]*)?<\|content_text\|>"
    r"|<\|(?:message_model|end_message|content_model_end_sampling)\|>",
    "muse_glimmer": rf"{_MESSAGE_TO}self<\|message\|>.*?(?:<\|eo[mt]\|>|(?=<\|start\|>)|\Z)"
    rf"|(?:{_MESSAGE_TO}user)?<\|message\|>|<\|eo[mt]\|>",
}
"""Regular expressions of marks around a model's words, and of thoughts beside them, by the tool parser's name."""


def cut(tool_parser: str | None, answer: str, names: Sequence[str]) -> tuple[str, list[Attempt]]:
    """Returns the words outside of the frames of calls, in order and as they stand, but stripped; and the attempts at
    calls. Without attempts, or for a parser without an entry in `FRAMES`, returns the answer and [].

    `answer`: answer without its reasoning. `names`: names of the tools. A mark between backquotes is a mention.
    """
    words: list[str] = []
    attempts: list[Attempt] = []
    position = 0
    for _, start, end, read in _frames_in(tool_parser, answer, names):
        words += [answer[position:start], *filter(None, (attempt.words for attempt in read))]
        position = end
        attempts += (hide(tool_parser, attempt) for attempt in read)
    if not attempts:
        return answer, []
    return words_alone(tool_parser, _join([*words, answer[position:]])).strip(), attempts


def _join(words: Sequence[str]) -> str:
    """Returns the words beside calls as one text. A block of code that held calls and nothing else is left out."""

    def leave_out(block: re.Match[str]) -> str:
        fences_before = len(_FENCE.findall(block.string, 0, block.start()))
        return block[0] if fences_before % 2 else ""  # what looks like its beginning ends another block

    return _BLOCK_OF_CALLS.sub(leave_out, _CALL_STOOD_HERE.join(words)).replace(_CALL_STOOD_HERE, "")


def words_alone(tool_parser: str | None, text: str) -> str:
    """Returns a text that has no calls without the marks around its words, and without the thoughts beside them."""
    return re.sub(NO_WORDS.get(tool_parser or "", NEVER), "", text, flags=re.DOTALL)


def complete_frames(tool_parser: str | None, text: str, names: Sequence[str]) -> list[tuple[int, int]]:
    """Returns the start and the end of each frame in a text that is closed, so that marks within it are arguments."""
    return [
        (start, end)
        for frame, start, end, read in _frames_in(tool_parser, text, names)
        if _is_closed(frame, text[start:end], read[-1])
    ]


def _is_closed(frame: Frame, text: str, last: Attempt) -> bool:
    """Says whether a frame has its end: its mark, or the bracket behind its last call."""
    if isinstance(frame.read, Between | Suffixed):
        return frame.read.is_closed(text)
    return last.written.endswith(("}", "]", ")"))


def _frames_in(
    tool_parser: str | None, text: str, names: Sequence[str]
) -> Iterator[tuple[Frame, int, int, list[Attempt]]]:
    """Yields the frames in a text, in order, each with its start and its end, and the attempts in it."""
    frames = FRAMES.get(tool_parser or "", ())
    begins = [_begin(frame.begin, tuple(names)) for frame in frames]
    following = [_next(frame, begin, text, 0) for frame, begin in zip(frames, begins, strict=True)]
    while any(following):
        first = min((found.start(), number) for number, found in enumerate(following) if found)[1]
        frame, begin, found = frames[first], begins[first], following[first]
        assert found is not None
        read, position = frame.read(text, found.end(), frame.again or begin)
        yield frame, found.start(), position, read
        for number, later in enumerate(following):
            if later is not None and later.start() < position:
                following[number] = _next(frames[number], begins[number], text, position)


def has_mark(tool_parser: str | None, answer: str) -> bool:
    """Returns True if a mark of a call's beginning is in an answer. Where it begins none, it is a mention, behind which
    some parsers drop all words.
    """
    return any(mark in answer for mark in _marks(tool_parser))


def has_mention(tool_parser: str | None, answer: str) -> bool:
    """Returns True if marks of a call's beginning are in an answer in which `cut` finds no call, and begin none: one is behind
    a backquote, or no mark of an end is in the answer.
    """
    marks = [mark for mark in _marks(tool_parser) if mark != "[" and mark in answer]
    reads = [frame.read for frame in FRAMES.get(tool_parser or "", ())]
    ends = [end for read in reads if isinstance(read, Between) for end in read.ends]
    is_quoted = any(f"`{mark}" in answer for mark in marks)
    return bool(marks) and (is_quoted or not any(end in answer for end in ends))


def _marks(tool_parser: str | None) -> Iterator[str]:
    for frame in FRAMES.get(tool_parser or "", ()):
        if isinstance(frame.read, Between | Suffixed):
            yield frame.read.begin
        elif isinstance(frame.read, ListOfJson | ObjectOfJson) and frame.read.before:
            yield frame.read.before


def has_call_or_mention(tool_parser: str | None, answer: str) -> bool:
    """Returns True if a call of any tool begins in an answer, or a mark of a call's beginning is in it."""
    return has_mark(tool_parser, answer) or bool(cut(tool_parser, answer, ())[1])


def has_example(tool_parser: str | None, answer: str, names: Sequence[str]) -> bool:
    """Returns True if an answer has a call without marks that is an example (see `is_no_example`)."""
    frames = [frame for frame in FRAMES.get(tool_parser or "", ()) if frame.when is is_no_example]
    return any(
        not is_no_example(answer, *found.span(), begin)
        for begin in (_begin(frame.begin, tuple(names)) for frame in frames)
        for found in re.compile(begin).finditer(answer)
    )


def _next(frame: Frame, begin: str, answer: str, position: int) -> re.Match[str] | None:
    """Returns the beginning of a frame's next one from `position` on; None if none follows. `begin`: its regular expression."""
    for found in re.compile(begin).finditer(answer, position):
        if _is_mention(answer, *found.span()) or _is_behind(answer, found.start(), frame.not_behind):
            continue
        if frame.not_within and _is_within(answer, found.start(), *frame.not_within):
            continue
        if frame.when is None or frame.when(answer, *found.span(), begin):
            return found
    return None


def _is_mention(answer: str, start: int, end: int) -> bool:
    return start > 0 and answer[start - 1] == "`" and _REST_OF_MENTION.match(answer, end) is not None


def _is_behind(answer: str, start: int, texts: tuple[str, ...]) -> bool:
    return bool(texts) and answer[max(0, start - 1000) : start].rstrip().endswith(texts)


def _is_within(answer: str, start: int, begin: str, end: str) -> bool:
    """Returns True if the last mark before `start` is `begin`, and its `end` follows."""
    return answer.rfind(begin, 0, start) > answer.rfind(end, 0, start) and end in answer[start:]


@lru_cache(maxsize=512)
def _begin(begin: str, names: tuple[str, ...]) -> str:
    return begin.replace(NAMES, "|".join(map(re.escape, names)) or NEVER)
