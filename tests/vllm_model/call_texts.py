"""Writes calls in formats of vLLM's tool parsers whose models and templates no test has."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

TOKENS = [
    *("<response>", "</response>", "<tool_calls>", "</tool_calls>", "<|content_text|>", "<|content_thinking|>"),
    *("<|message_model|>", "<|end_message|>", "<|content_invoke_tool_json|>", "<|content_model_end_sampling|>"),
    *("<|content_invoke_tool_text|>", "<|content_tool_error|>", "<|plamo:tag|>", "<|open|>", "<|close|>", "<|sep|>"),
    *("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", "<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
    *("<｜DSML｜ calls>", "</｜DSML｜ calls>"),
]
"""Tokens that these parsers ask a tokenizer for, beside others that other formats have, too."""


class CallTexts(NamedTuple):
    """Holds texts of calls: two well-formed ones, note {"text": "ü"} and go {"to": "x"}, and a malformed one."""

    begin: str
    """Text before a call, or before several."""
    end: str
    """Text behind it, or behind them."""
    note: str
    go: str
    bad: str
    mark: str
    """Mark of a call's beginning, of which words may speak."""
    between: str | None = None
    """Text between several calls; None if there is `begin` and `end` around each."""
    bad_as_read: tuple[str, str] | None = None
    """Name and arguments of the call that is read from `bad`; None means no name, and its text."""


_JSON = (
    '{"name": "note", "arguments": {"text": "ü"}}',
    '{"name": "go", "arguments": {"to": "x"}}',
    '{"name": "go", "arguments": {"to": }}',
)
_GLM = (
    "note\n<arg_key>text</arg_key>\n<arg_value>ü</arg_value>\n",
    "go\n<arg_key>to</arg_key>\n<arg_value>x</arg_value>\n",
    '{"name": "go", "arguments": {"to": "x"}}',
)


def _tags(begin: str, name: str, key: str, value: str) -> str:
    """Returns a call in the format of Hunyuan or K2: `begin` is what all names of tags begin with."""
    tag = f"<{begin}arg_key>{key}</{begin}arg_key><{begin}arg_value>{value}</{begin}arg_value>"
    return f"<{begin}tool_call>{name}{tag}</{begin}tool_call>"


def _invoke(mark: str, name: str, key: str, value: str) -> str:
    """Returns a call in a format with <invoke>: `mark` is what all names of tags begin with."""
    tag = f'<{mark}parameter name="{key}">{value}</{mark}parameter>'
    return f"<{mark}invoke{name}>\n{tag}\n</{mark}invoke>"


def _minimax(name: str, key: str, value: str) -> str:
    mark = "]<]minimax[>["
    return f"{mark}<invoke{name}>{mark}<{key}>{value}{mark}</{key}>{mark}</invoke>"


def _plamo(name: str, arguments: str) -> str:
    begin, end = (f"<|plamo:{side}_tool_arguments:plamo|>" for side in ("begin", "end"))
    inside = f"{name}{begin}<|plamo:constrain|>json<|plamo:msg|>{arguments}{end}"
    return f"<|plamo:begin_tool_request:plamo|>{inside}<|plamo:end_tool_request:plamo|>"


def _plamo_name(name: str) -> str:
    return f"<|plamo:begin_tool_name:plamo|>{name}<|plamo:end_tool_name:plamo|>"


def _step(name: str, key: str, value: str) -> str:
    inside = f'<steptml:invoke{name}><steptml:parameter name="{key}">{value}</steptml:parameter></steptml:invoke>'
    return f"<｜tool_call_begin｜>function<｜tool_sep｜>{inside}<｜tool_call_end｜>"


def _kimi(name: str, key: str, value: str) -> str:
    argument = f'<|open|>argument key="{key}" type="string"<|sep|>{value}<|close|>argument<|sep|>'
    return f'<|open|>call{name} index="1"<|sep|>{argument}<|close|>call<|sep|>'


def _three(write: Callable[..., str], *before: str, attribute: str = ' name="{}"') -> tuple[str, str, str]:
    """Returns two well-formed calls, and one without a name. `attribute`: the name's, with {} in its place."""
    note, go = attribute.format("note"), attribute.format("go")
    return write(*before, note, "text", "ü"), write(*before, go, "to", "x"), write(*before, "", "to", "x")


_DSML = _three(_invoke, "｜DSML｜")

CALL_TEXTS = {
    "ernie45": CallTexts("<tool_call>\n", "\n</tool_call>", *_JSON, "<tool_call>"),
    "internlm": CallTexts("<|action_start|><|plugin|>\n", "<|action_end|>", *_JSON, "<|action_start|><|plugin|>"),
    "granite-20b-fc": CallTexts("<function_call> ", "", *_JSON, "<function_call>"),
    "gigachat3": CallTexts("<|function_call|>", "", *_JSON, "<|function_call|>"),
    "jamba": CallTexts("<tool_calls>[", "]</tool_calls>", *_JSON, "<tool_calls>", ", "),
    "hunyuan_a13b": CallTexts("<tool_calls>\n[", "]\n</tool_calls>", *_JSON, "<tool_calls>", ", "),
    "xlam": CallTexts("[", "]", *_JSON, "<tool_call>", ", "),
    "apertus": CallTexts(
        "<|tools_prefix|>[",
        "]<|tools_suffix|>",
        '{"note": {"text": "ü"}}',
        '{"go": {"to": "x"}}',
        '{"go": {"to": }}',
        "<|tools_prefix|>",
        ", ",
    ),
    "inkling": CallTexts(
        "<|message_model|><|content_invoke_tool_json|>",
        "<|end_message|>",
        '{"name": "note", "args": {"text": "ü"}}',
        '{"name": "go", "args": {"to": "x"}}',
        '{"args": {"to": "x"}}',
        "<|content_invoke_tool_json|>",
    ),
    "plamo3": CallTexts(
        "<|plamo:begin_tool_requests:plamo|>",
        "<|plamo:end_tool_requests:plamo|>",
        _plamo(_plamo_name("note"), '{"text": "ü"}'),
        _plamo(_plamo_name("go"), '{"to": "x"}'),
        _plamo("go", '{"to": "x"}'),
        "<|plamo:begin_tool_requests:plamo|>",
        "",
    ),
    "ling3": CallTexts("<tool_call>", "</tool_call>", *_GLM, "<tool_call>"),
    "poolside_v1": CallTexts("<tool_call>", "</tool_call>", *_GLM, "<tool_call>"),
    "hy_v3": CallTexts(
        "<tool_calls>\n", "\n</tool_calls>", *_three(_tags, "", attribute="{}<tool_sep>"), "<tool_calls>", "\n"
    ),
    "hy_v4": CallTexts("<tool_calls>", "</tool_calls>", *_three(_tags, "", attribute="{}"), "<tool_calls>", ""),
    "k2_horizon": CallTexts(
        "<ifm|tool_calls>", "</ifm|tool_calls>", *_three(_tags, "ifm|", attribute="{}"), "<ifm|tool_calls>", "\n"
    ),
    "deepseek_v32": CallTexts(
        "<｜DSML｜function_calls>\n", "\n</｜DSML｜function_calls>", *_DSML, "<｜DSML｜function_calls>", "\n"
    ),
    "deepseek_v4": CallTexts("<｜DSML｜tool_calls>\n", "\n</｜DSML｜tool_calls>", *_DSML, "<｜DSML｜tool_calls>", "\n"),
    "deepseek_v41": CallTexts(
        "<｜DSML｜ calls>\n", "\n</｜DSML｜ calls>", *_three(_invoke, "｜DSML｜ "), "<｜DSML｜ calls>", "\n"
    ),
    "dots": CallTexts(
        "<dots_function_call>\n", "\n</dots_function_call>", *_three(_invoke, ""), "<dots_function_call>", "\n"
    ),
    "minimax_m3": CallTexts(
        "]<]minimax[>[<tool_call>\n",
        "\n]<]minimax[>[</tool_call>",
        *_three(_minimax),
        "]<]minimax[>[<tool_call>",
        "\n",
    ),
    "minicpm5": CallTexts(
        "",
        "",
        '<function name="note"><param name="text">ü</param></function>',
        '<function name="go"><param name="to">x</param></function>',
        '<function><param name="to">x</param></function>',
        "<function>",
        bad_as_read=("", '><param name="to">x</param>'),
    ),
    "step3": CallTexts("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>", *_three(_step), "<｜tool_calls_begin｜>", ""),
    "kimi_k3": CallTexts(
        "<|open|>tools<|sep|>",
        "<|close|>tools<|sep|>",
        *_three(_kimi, attribute=' tool="{}"'),
        "<|open|>tools<|sep|>",
        "",
    ),
    "muse_glimmer": CallTexts(
        "<|start|>assistant to=it.it<|message|><atem:function_calls>\n",
        "\n</atem:function_calls><|eom|>",
        *_three(_invoke, "atem:"),
        "<atem:function_calls>",
        "\n",
    ),
}
"""Texts of calls, by vLLM's names of the tool parsers."""
