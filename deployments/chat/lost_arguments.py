"""Finds calls of which a parser has dropped arguments.

Some of vLLM's parsers read what is well-formed in a call and drop the rest without a word. A parameter without its end
mark, or JSON where parameters belong, would be a call without arguments. Such a call must not be carried out.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ray_gym.deployments.chat.call_pieces import Attempt

Given = dict[str, Any]
"""Arguments that a parser has read."""
Form = Callable[[Attempt, Given], bool]
"""Returns True if an attempt at a call has more arguments, or other text in their place, than the parser has read."""

MOST_NESTED = 100
"""Lists and objects within another that are told apart from the arguments of a call."""

_ARGUMENTS = ("arguments", "parameters", "args")
_HAS_ARGUMENTS = re.compile(rf'"(?:{"|".join(_ARGUMENTS)})"\s*:\s*\{{\s*"')
_ARGUMENT = "<>"
"""Stands for an argument that was read."""
_TEXT = "\ufdd3"
"""Stands for a text, list or object that was read: a noncharacter of Unicode."""
_BEHIND_A_TEXT = re.compile(rf"{_TEXT}\s*[^\s:,}}\])]")
_ABOUT_A_CALL = {"name", "function", "type", "id", "index"}
"""Keys of a call of JSON that hold no arguments."""
_BRACKETS = re.compile(r"\{[^{}\[\]]*\}|\[[^{}\[\]]*\]")
_decode_pairs = json.JSONDecoder(object_pairs_hook=list).raw_decode


def loses_arguments(tool_parser: str | None, attempt: Attempt, arguments: str) -> bool:
    """Returns True if an attempt has more arguments than `arguments`, which a parser has read in it. Arguments that are
    no JSON object have lost none: they stand as the model wrote them, and are refused elsewhere.
    """
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    form = _FORMS.get(tool_parser or "", _loses_of_json)
    return isinstance(given, dict) and form(attempt, given)


@dataclass(frozen=True, slots=True)
class _Marked:
    """Checks calls whose arguments have marks of their own. Nothing else stands in such a call."""

    around: re.Pattern[str]
    """Matches what is around the arguments, and ends of arguments."""
    argument: re.Pattern[str]
    """Matches an argument as the parser reads it."""

    def __call__(self, attempt: Attempt, given: Given) -> bool:
        """Returns True for lost arguments (see `Form`): one of two with the same name is lost, too."""
        rest, count = self.argument.subn(_ARGUMENT, attempt.alone)
        return count > len(given) or (count == len(given) and bool(self.around.sub("", rest).strip()))


def _marked(around: str, argument: str) -> _Marked:
    """Returns the check of calls by two regular expressions (see `_Marked`)."""
    return _Marked(re.compile(f"{around}|{_ARGUMENT}", re.DOTALL), re.compile(argument, re.DOTALL))


@dataclass(frozen=True, slots=True)
class _Braced:
    """Checks calls call:NAME{KEY:VALUE,KEY:VALUE}, in which texts are between marks."""

    mark: str
    """Mark at the beginning and the end of a text."""
    text: re.Pattern[str]
    """Matches a text with its marks."""
    end: str
    """Mark at the end of a call, which may stand right behind a text."""

    def __call__(self, attempt: Attempt, given: Given) -> bool:
        """Returns True for lost arguments (see `Form`), and for a text without its end, or with one too early."""
        without_texts = self.text.sub(_TEXT, attempt.alone)
        if attempt.is_ended and not attempt.written.endswith(self.mark * 2):  # no mark that a text quotes
            without_texts = without_texts.removesuffix(self.end)
        if self.mark in without_texts or _BEHIND_A_TEXT.search(without_texts):
            return True
        _, opening, inside = re.split(r"([{(]|\Z)", without_texts, maxsplit=1)
        for _ in range(MOST_NESTED):
            if (shorter := _BRACKETS.sub(_TEXT, inside)) == inside:
                break
            inside = shorter
        items = inside.split("}" if opening == "{" else ")")[0].split(",")
        return sum(bool(item.strip()) for item in items) > len(given)


def _loses_of_json(attempt: Attempt, given: Given) -> bool:
    """Returns True for lost arguments (see `Form`) of a call {"name": NAME, "arguments": {...}}; False for any other."""
    text = attempt.written.lstrip()
    try:
        pairs = _decode_pairs(text)[0] if text.startswith("{") else []
    except (ValueError, RecursionError):
        return not given and _HAS_ARGUMENTS.search(text) is not None
    full = [key for key, value in pairs if key not in _ABOUT_A_CALL and not _is_nothing(value)]
    has_place = any(key in _ARGUMENTS for key, _ in pairs)
    misplaced = "name" in dict(pairs) and not has_place and bool(full)
    count = sum(key in _ARGUMENTS for key in full)
    return count > 1 or (not given and (count > 0 or misplaced))


def _is_nothing(value: Any) -> bool:
    """Returns True for null, and for an empty object, as JSON or in a text."""
    return value is None or value == [] or (isinstance(value, str) and "".join(value.split()) in ("", "{}", "null"))


def _loses_of_python(attempt: Attempt, given: Given) -> bool:
    """Returns True for lost arguments (see `Form`) of a call NAME(KEY=VALUE). Parsers mend some calls that are no
    Python: of these it is True if there is something between the parentheses, and no argument was read.
    """
    try:
        call = ast.parse(attempt.written.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        call = None
    if not isinstance(call, ast.Call):
        return not given and re.search(r"\(\s*\)", attempt.written) is None
    has_nameless = bool(call.args) or any(keyword.arg is None for keyword in call.keywords)
    return has_nameless or len(call.keywords) > len(given)


def _loses_of_kimi(attempt: Attempt, given: Given) -> bool:
    """Returns True for lost arguments (see `Form`) of a call that lacks the mark before its arguments."""
    has_mark = "<|tool_call_argument_begin|>" in attempt.written
    return not given and not has_mark and re.search(r"[{\[(=\"]", attempt.written) is not None


def _loses_of_minimax_m3(attempt: Attempt, given: Given) -> bool:
    """Returns True for lost arguments (see `Form`) of a call one of whose values has no end."""
    value = r"(?!invoke\b|tool_call\b)[^/\s>]+>"
    begun, ended = (len(re.findall(rf"\]<\]minimax\[>\[<{end}{value}", attempt.alone)) for end in ("", "/"))
    return begun != ended


def _functions(tag: str) -> _Marked:
    """Returns the form of calls <function=NAME><parameter=KEY>VALUE</parameter></function> within <tag></tag>."""
    around = rf"\A\s*(?:<{tag}>\s*)?<function=[^>]*>|</(?:parameter|function|{tag})>"
    return _marked(around, r"<\s*parameter\s*=\s*[^<>]*>.*?(?:<\s*/\s*parameter\s*>|(?=<\s*parameter\s*=))")


def _invokes(mark: str, call: str = "invoke", parameter: str = "parameter") -> _Marked:
    """Returns the form of calls <invoke name=NAME><parameter name=KEY>VALUE</parameter></invoke>. `mark`: beginning of
    the names of all tags. `call`, `parameter`: their ends.
    """
    around = rf"\A.*?<{mark}{call}\b[^>]*>|</[^<>]*>|<[|｜][^<>]*[|｜]>"
    begin = rf"<{mark}{parameter}\s+name\s*="
    return _marked(around, rf"{begin}[^<>]*>.*?(?:</{mark}{parameter}>|(?={begin}))")


_PARAMETER_NAME = r"<\s*parameter\s+name\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^>\s]+)\s*>"
_MINIMAX = _marked(
    r"\A\s*(?:<minimax:tool_call>\s*)?<invoke name=[^>]*>|</(?:parameter|invoke|minimax:tool_call)>",
    _PARAMETER_NAME + r".*?(?:<\s*/\s*parameter\s*>|(?=<\s*parameter\s+name\s*=))",
)
_GLM = _marked(
    r"\A\s*<tool_call>[^<]*|</(?:arg_key|arg_value|tool_call)>",
    r"<arg_key>(?:(?!<arg_key>).)*?</arg_key>\s*<arg_value>(?:(?!</arg_key>\s*<arg_value>).)*?</arg_value>",
)
_HUNYUAN = _marked(
    r"\A.*?<tool_call(?::[^<>]*)?>[^<]*(?:<tool_sep[^<>]*>)?|</[^<>]*>",
    _GLM.argument.pattern.replace(">", "[^<>]*>"),
)
_KIMI_K3 = _marked(
    r"\A.*?<\|open\|>call\b[^<]*<\|sep\|>|<\|close\|>(?:call|tools)<\|sep\|>",
    r"<\|open\|>argument\b[^<]*<\|sep\|>.*?<\|close\|>argument<\|sep\|>",
)
_FORMS: dict[str, Form] = {
    **dict.fromkeys(("qwen3_xml", "qwen3_coder", "mimo", "step3p5"), _functions("tool_call")),
    "seed_oss": _functions("seed:tool_call"),
    **dict.fromkeys(("glm45", "glm47", "ling3", "poolside_v1"), _GLM),
    **dict.fromkeys(("hy_v3", "hy_v4"), _HUNYUAN),
    "dots": _invokes(""),
    "step3": _invokes("steptml:"),
    "muse_glimmer": _invokes("atem:"),
    "minicpm5": _invokes("", "function", "param"),
    **dict.fromkeys(("deepseek_v32", "deepseek_v4"), _invokes("｜DSML｜")),
    "deepseek_v41": _invokes("｜DSML｜ "),
    "minimax_m2": _MINIMAX,
    "minimax_m3": _loses_of_minimax_m3,
    "kimi_k2": _loses_of_kimi,
    "kimi_k3": _KIMI_K3,
    **dict.fromkeys(("pythonic", "llama4_pythonic", "olmo3", "lfm2"), _loses_of_python),
    "gemma4": _Braced('<|"|>', re.compile(r'<\|"\|>.*?<\|"\|>(?:<\|"\|>(?=\s*[,}\])]))?', re.DOTALL), "<tool_call|>"),
}
"""Forms of calls, by the tool parser's name. A parser that is not here reads calls of JSON, or has lost none."""
