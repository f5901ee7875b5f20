"""Guesses which parsers read a model's tool calls and reasoning, from the marks in its chat template.

A template that shows tools also shows how calls are written, since it has to render those of earlier turns. The marks
are those that vLLM's own parsers look for. The config's tool_parser and reasoning_parser override the guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ray_gym.deployments.chat import plain_calls
from ray_gym.deployments.chat.options import ChatOptions
from ray_gym.errors import UserError


@dataclass(frozen=True, slots=True)
class Parsers:
    """Holds the names of a model's parsers: vLLM's names, or `plain` for tool calls as lines `NAME {arguments}`. None
    means that there is no such parser.
    """

    tool: str | None
    reasoning: str | None


@dataclass(frozen=True, slots=True)
class _Family:
    """A family of models has the same parsers. A model belongs to it if all `marks` are in its chat template, and
    `name` matches its name or path.
    """

    marks: tuple[str, ...]
    tool: str | None
    reasoning: str | None = None
    name: str = ""
    """Regular expression that must match within the model's name or path, in any case."""


_FAMILIES = (
    _Family(("NAME {...}",), plain_calls.NAME),  # the fallback template
    _Family(("<|channel|>", "<|call|>"), "openai", "openai_gptoss"),
    _Family(("<｜tool▁calls▁begin｜>", "```json"), "deepseek_v3", "deepseek_r1", name=r"r1"),
    _Family(("<｜tool▁calls▁begin｜>", "```json", "<think>\\n'"), "deepseek_v3", "deepseek_r1"),
    _Family(("<｜tool▁calls▁begin｜>", "```json"), "deepseek_v3"),
    _Family(("<｜tool▁calls▁begin｜>",), "deepseek_v31", "deepseek_v3"),
    _Family(("[TOOL_CALLS]", "[THINK]"), "mistral", "mistral"),
    _Family(("[TOOL_CALLS]",), "mistral"),
    _Family(("<|tool_calls_section_begin|>",), "kimi_k2", "kimi_k2"),
    _Family(("<minimax:tool_call>",), "minimax_m2", "minimax_m2"),
    _Family(("<seed:tool_call>",), "seed_oss", "seed_oss"),
    _Family(("<|tool_call_start|>", "<think>"), "lfm2", "qwen3"),
    _Family(("<|tool_call_start|>",), "lfm2"),
    _Family(("<start_function_call>",), "functiongemma"),
    _Family(("<|tool_call>", "<tool_call|>"), "gemma4", "gemma4"),
    _Family(("<longcat_tool_call>",), "longcat"),
    _Family(("<|header_start|>", "<|python_start|>"), "llama4_pythonic"),
    _Family(("<|header_start|>",), "llama4_json"),
    _Family(("<|start_header_id|>", '"parameters": '), "llama3_json"),
    _Family(("<function_calls>",), "olmo3", name=r"olmo"),
    _Family(("<tool_call>", "<arg_key>"), "glm47", "glm47", name=r"glm-?(4\.[7-9]|5)"),
    _Family(("<tool_call>", "<arg_key>"), "glm45", "glm45"),
    _Family(("<tool_call>", "<function="), "qwen3_xml", "nemotron_v3", name=r"nemotron"),
    _Family(("<tool_call>", "<function=", "<think>"), "qwen3_xml", "qwen3"),
    _Family(("<tool_call>", "<function="), "qwen3_xml"),
    _Family(("<tool_call>",), "granite4", name=r"granite-?4"),
    _Family(("<tool_call>", "<think>"), "hermes", "qwen3"),
    _Family(("<tool_call>",), "hermes"),
    _Family(("<|tool_call|>",), "granite", name=r"granite"),
    _Family(("<|tool|>",), "phi4_mini_json", name=r"phi-?4"),
    _Family(("<think>",), None, "deepseek_r1", name=r"r1"),
    _Family(("<think>", "enable_thinking"), None, "qwen3"),
)
"""Families in the order in which they are tried. The first that fits counts, so more specific ones come first."""


def guess_parsers(model: str, template: str) -> Parsers:
    """Returns the parsers of the first family that fits a model's name or path and the source of its chat template;
    parsers of None if none fits.
    """
    for family in _FAMILIES:
        if all(mark in template for mark in family.marks) and re.search(family.name, model, re.IGNORECASE):
            return Parsers(family.tool, family.reasoning)
    return Parsers(None, None)


def choose_parsers(options: ChatOptions, model: str, template: str, *, shows_tools: bool, uses_tools: bool) -> Parsers:
    """Returns the parsers of the config, or else the guessed ones. If participants have tools, and the template is
    ChatML without tools, the tool parser is `plain` unless the config names one.

    `model`: the model's name or path. `template`: source of its chat template. `shows_tools`: True if the template
    shows tools. `uses_tools`: True if participants have tools. Errors: UserError if participants have tools, and the
    template neither shows them nor is ChatML, or shows them in an unknown format and the config names no tool_parser.
    """
    guessed = guess_parsers(model, template)
    reasoning = options.reasoning_parser or guessed.reasoning
    if options.reasoning_parser == "none":
        reasoning = None
    if not uses_tools:
        return Parsers(options.tool_parser or guessed.tool, reasoning)
    if not shows_tools and "<|im_start|>" not in template:
        problem = "the participants have tools, but the model's chat template does not show them and is not ChatML"
        raise UserError(f"{problem}; set chat_template and tool_parser")
    if not shows_tools:
        return Parsers(options.tool_parser or plain_calls.NAME, reasoning)  # as the fallback template asks for it
    if options.tool_parser or guessed.tool:
        return Parsers(options.tool_parser or guessed.tool, reasoning)
    problem = "its chat template shows tools in an unknown format"
    raise UserError(f"{problem}; set tool_parser to vLLM's name for it (hermes, llama3_json, ...)")
