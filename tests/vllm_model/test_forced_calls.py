"""Reads forced calls of models that think first, in the form of JSON, with vLLM's own parsers."""

from __future__ import annotations

import numpy as np
import pytest
from test_malformed_calls import TOOLS, Calls, tokenizer, tool_format

from ray_gym.deployments.chat.token_engine import Generation, Grammar

CALL = '[{"name": "note", "parameters": {"text": "TEXT"}}]'
NOTE: Calls = [("note", '{"text": "TEXT"}')]


def read(parsers: tuple[str, str | None], text: str, prompt: str = "") -> tuple[str | None, str, Calls]:
    """Returns the reasoning, the words and the calls of a forced answer. `prompt`: the end of its prompt."""
    ids = tokenizer().encode(prompt, add_special_tokens=False)
    answer = Generation(ids, np.zeros(0, np.int32), np.zeros(0, np.float32), text, truncated=False)
    message = tool_format(*parsers).parse(answer, TOOLS, Grammar("json", "{}"), 7)
    return message.reasoning, message.content, [(call.name, call.arguments) for call in message.tool_calls]


@pytest.mark.parametrize(
    ("parsers", "before", "thoughts"),
    [
        (("lfm2", "qwen3"), "<think>plan</think>\n\n", "plan"),
        (("lfm2", "qwen3"), "plan</think>", "plan"),
        (("lfm2", "qwen3"), f"<think>I try {CALL}, or [{{.</think>", f"I try {CALL}, or [{{."),
        (("mistral", "mistral"), "[THINK]plan[/THINK]", "plan"),
        (("seed_oss", "seed_oss"), "<seed:think>plan</seed:think>", "plan"),
        (("gemma4", "gemma4"), "<|channel>thought\nplan<channel|>", "plan"),
        (("granite", "granite"), "Here is my thought process: plan Here is my response: ", "plan"),
    ],
)
def test_thoughts_before_forced_calls_are_reasoning(parsers: tuple[str, str], before: str, thoughts: str) -> None:
    assert read(parsers, before + CALL) == (thoughts, "", NOTE)
    broken = CALL.removesuffix("}]")
    assert read(parsers, before + broken) == (thoughts, "", [("", broken)])
    assert read(parsers, CALL) == (None, "", NOTE)


def test_a_thought_that_the_prompt_opened() -> None:
    parsers = ("lfm2", "qwen3")
    assert read(parsers, f"plan</think>{CALL}", "<think>\n") == ("plan", "", NOTE)
    assert read(parsers, "plan", "<think>\n") == ("plan", "", [])
    assert read(parsers, "<think>plan") == ("plan", "", [])


@pytest.mark.parametrize("inside", ["a </think> b", "<think>x</think>", "<think>[{}]</think>", "`</think>`"])
def test_marks_in_the_arguments_of_forced_calls_are_text(inside: str) -> None:
    wanted = [("note", NOTE[0][1].replace("TEXT", inside))]
    for reasoning_parser in ("qwen3", None):
        assert read(("lfm2", reasoning_parser), CALL.replace("TEXT", inside)) == (None, "", wanted)
    assert read(("lfm2", "qwen3"), "<think>plan</think>" + CALL.replace("TEXT", inside)) == ("plan", "", wanted)


def test_without_a_reasoning_parser_all_is_the_call() -> None:
    text = f"<think>plan</think>{CALL}"
    assert read(("lfm2", None), text) == (None, "", [("", text)])
