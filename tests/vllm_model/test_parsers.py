"""Guesses a model's parsers: what its own template writes, they read back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from engine_double import Line
from families import FAMILY_NAMES
from talk import TOOL, Talk, as_text, as_the_template_writes, formats

from ray_gym.deployments.chat.options import ChatOptions
from ray_gym.deployments.chat.parsers import Parsers, choose_parsers, guess_parsers
from ray_gym.deployments.chat.token_engine import Generation
from ray_gym.deployments.chat.tool_format import HARMONY, ToolFormat
from ray_gym.errors import UserError
from ray_gym.messages import Message, ToolCall
from ray_gym.models.thoughts import tell_apart

SHOW_TOOLS = [
    "glm4", "mistral_chatml", "gpt_oss", "llama3_2", "mistral", "mistral_v3", "qwen2_5", "qwen3", "qwen3_5", "smollm2", "smollm2_tools"
]  # fmt: skip


@pytest.mark.parametrize("name", SHOW_TOOLS)
def test_a_call_that_the_template_writes_is_read(name: str) -> None:
    talk = Talk(formats(name), has_tools=True)
    talk.put(Message("user", "Your move."))
    given = {"position": 4, "why": "the <b>centre</b>"}
    call = ToolCall("abcdefgh0", "make_move", json.dumps(given))
    written = as_the_template_writes(talk, Message("assistant", "", None, (call,)))
    assert written is not None
    answer = talk.speak(Line(written))
    assert [(made.name, json.loads(made.arguments)) for made in answer.tool_calls] == [("make_move", given)]
    assert answer.content == ""
    (made,) = answer.tool_calls
    assert len(made.id) == 9 and made.id.isalnum()
    talk.put(Message("tool", "done", tool_call_id=made.id))
    assert talk.speak(Line(as_text(talk.formats, "Your turn."))).tool_calls == ()
    assert not talk.forks


@pytest.mark.parametrize("name", ["llama3_2", "mistral", "qwen2_5"])
def test_words_around_a_call_are_kept_beside_it(name: str) -> None:
    talk = Talk(formats(name), has_tools=True)
    talk.put(Message("user", "Your move."))
    call = ToolCall("abcdefgh0", "make_move", '{"position": 4}')
    written = as_the_template_writes(talk, Message("assistant", "", None, (call,)))
    assert written is not None
    said = [as_text(talk.formats, text) for text in ("I move.\n", "\nDone.")]
    answer = talk.speak(Line([*said[0], *written, *said[1]]))
    assert answer.content.split() == ["I", "move.", "Done."]
    assert [(made.name, json.loads(made.arguments)) for made in answer.tool_calls] == [("make_move", {"position": 4})]
    talk.put(Message("tool", "done", tool_call_id=answer.tool_calls[0].id))
    assert talk.speak(Line(as_text(talk.formats, "Your turn."))).content == "Your turn."
    assert not talk.forks, "the next prompt goes on after these tokens"


def test_every_family_that_shows_tools_is_tried() -> None:
    assert {name for name in FAMILY_NAMES if formats(name).takes_tools} == set(SHOW_TOOLS)


def test_a_call_after_reasoning_is_read() -> None:
    """The family's template shows calls, but no tools."""
    tokenizer = formats("deepseek_v3").tokenizer
    call = 'function<｜tool▁sep｜>make_move\n```json\n{"position": 4}\n```'
    calls = f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{call}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    text = f"I think.\n</think>\n\n{calls}"
    ids = np.array(tokenizer.encode(text, add_special_tokens=False), dtype=np.int32)
    generation = Generation([], ids, np.zeros(len(ids), np.float32), text, truncated=False)
    answer = ToolFormat("deepseek_v3", "deepseek_r1", tokenizer).parse(generation, (TOOL,), None, 1)
    assert (answer.reasoning or "").strip() == "I think." and answer.content == ""
    assert [(made.name, json.loads(made.arguments)) for made in answer.tool_calls] == [("make_move", {"position": 4})]


@pytest.mark.parametrize("calls", [True, False])
def test_commentary_of_gpt_oss_is_content_beside_the_call(calls: bool) -> None:
    """The text alone is told apart alike, where no parser of vLLM reads it."""
    analysis = "<|channel|>analysis<|message|>I think.<|end|><|start|>assistant"
    preamble = "<|channel|>commentary<|message|>I move.<|end|><|start|>assistant"
    call = '<|channel|>commentary to=functions.make_move <|constrain|>json<|message|>{"position": 4}<|call|>'
    text = analysis + preamble + (call if calls else "<|channel|>final<|message|>I moved.<|return|>")
    tokenizer = formats("gpt_oss").tokenizer
    ids = np.array(tokenizer.encode(text, add_special_tokens=False), dtype=np.int32)
    generation = Generation([], ids, np.zeros(len(ids), np.float32), text, truncated=False)
    answer = ToolFormat(*HARMONY, tokenizer).parse(generation, (TOOL,), None, 1)
    assert answer.reasoning == "I think."
    assert answer.content == ("I move." if calls else "I move.\nI moved.")
    assert [made.name for made in answer.tool_calls] == (["make_move"] if calls else [])
    assert tell_apart(text) == ("I think.", f"{answer.content}\n{call}" if calls else answer.content)


@pytest.mark.models
@pytest.mark.parametrize(
    ("header", "name", "arguments"),
    [
        ("<|channel|>commentary to=python", "python", "print(1)"),
        ("<|channel|>analysis to=python code", "python", "print(1)"),
        (" to=python<|channel|>commentary code", "python", "print(1)"),
        ("<|channel|>analysis to=browser.search code", "browser.search", '{"query": "x"}'),
        ("<|channel|>commentary to=container.exec json", "container.exec", '{"cmd": ["ls"]}'),
        ("<|channel|>commentary to=functions.make_move json", "make_move", '{"position": 4}'),
    ],
)
def test_gpt_oss_calls_tools_that_it_was_trained_with(header: str, name: str, arguments: str) -> None:
    """Such a call is answered as that of any tool that there is not. Where there are no tools, it is none."""
    text = f"<|channel|>analysis<|message|>I think.<|end|><|start|>assistant{header}<|message|>{arguments}<|call|>"
    tokenizer = formats("gpt_oss").tokenizer
    ids = np.array(tokenizer.encode(text, add_special_tokens=False), dtype=np.int32)
    generation = Generation([], ids, np.zeros(len(ids), np.float32), text, truncated=False)
    for reasoning_parser in (HARMONY[1], None):
        answer = ToolFormat(HARMONY[0], reasoning_parser, tokenizer).parse(generation, (TOOL,), None, 1)
        assert [(made.name, made.arguments) for made in answer.tool_calls] == [(name, arguments)]
        assert (answer.reasoning or "", answer.content) == ("I think." if reasoning_parser else "", "")
    alone = ToolFormat(*HARMONY, tokenizer).parse(generation, (), None, 1)
    assert [made.name for made in alone.tool_calls if made.name != "make_move"] == []


THOUGHT = "<|channel|>analysis<|message|>I think."
CALL = '<|channel|>commentary to=functions.make_move <|constrain|>json<|message|>{"position": 4}<|call|>'


@pytest.mark.models
@pytest.mark.parametrize(
    ("text", "thought", "words", "calls"),
    [
        (THOUGHT + CALL, "I think.", "", 1),
        (THOUGHT + "<|start|>assistant" + CALL, "I think.", "", 1),
        (
            THOUGHT + "<|start|>assistant to=functions.make_move<|channel|>commentary<|message|>{}<|call|>",
            "I think.",
            "",
            1,
        ),
        (THOUGHT + "<|channel|>final<|message|>I say.<|return|>", "I think.", "I say.", 0),
        (THOUGHT + "<|channel|>commentary<|message|>I say." + CALL, "I think.", "I say.", 1),
        (THOUGHT + "<|end|><|start|>assistant<|message|>I say.<|return|>", "I think.", "I say.", 0),
        (THOUGHT + "<|end|><|channel|>final<|message|>I say.<|return|>", "I think.", "I say.", 0),
        (THOUGHT + "<|end|>" + CALL, "I think.", "", 1),
        (THOUGHT + "<|start|>assistant", "I think.", "", 0),
        (THOUGHT + "<|end|><|start|>assistant<|channel|>fin", "I think.", "", 0),
        (
            f"{THOUGHT}<|start|>assistant<|end|><|start|>assistant<|channel|>final<|message|>I say.",
            "I think.",
            "I say.",
            0,
        ),
        ("<|message|>I say.<|return|>", None, "I say.", 0),
        (THOUGHT + "<|end|><|start|>assistantI say.<|return|>", "I think.", "I say.", 0),
        (THOUGHT + "<|end|><|start|>assistantI say.", "I think.", "I say.", 0),
        (THOUGHT + "<|end|><|start|>assistant<|channel|>final I say.<|return|>", "I think.", "I say.", 0),
        (THOUGHT + "<|end|><|start|>assistant" + CALL.replace("<|message|>", ""), "I think.", "", 1),
        (THOUGHT + "<|end|><|start|>assistant<|channel|>commentary to=functions.make", "I think.", "", 0),
        ("I say.<|return|>", None, "I say.", 0),
        ("I say.", None, "I say.", 0),
        ("I say.<|end|><|start|>assistantYes.", None, "I say.\nYes.", 0),
        ("<|channel|>analysis I think.<|end|><|start|>assistant<|channel|>final I say.", "I think.", "I say.", 0),
        ("<|channel|>final I say.<|return|>", None, "I say.", 0),
        (CALL.replace("<|message|>", ""), None, "", 1),
        ("I say.<|start|>assistant" + CALL.replace("<|message|>", ""), None, "I say.", 1),
        (THOUGHT + '<|end|><|start|>assistant to=functions.make_move{"position": 4}<|call|>', "I think.", "", 1),
        (
            THOUGHT + '<|end|><|start|>assistant to=functions.make_move<|channel|>commentary{"position":4}<|call|>',
            "I think.",
            "",
            1,
        ),
        ("<|channel|>42 is it.", None, "42 is it.", 0),
        ("<|channel|>yes", None, "yes", 0),
        ("<|channel|>finally", None, "ly", 0),
        ("<|channel|>fin", None, "", 0),
        ("<|channel|>commentary to=functions.ma", None, "", 0),
        ("<|channel|>final to=user I say.", None, "to=user I say.", 0),
        (
            THOUGHT + "<|end|><|start|>assistant<|channel|>final to=user I say.<|return|>",
            "I think.",
            "to=user I say.",
            0,
        ),
        (
            THOUGHT + "<|end|><|start|>assistant<|channel|>final I use <|start|>assistant<|return|>",
            "I think.",
            "I use ",
            0,
        ),
    ],
)
def test_messages_of_gpt_oss_may_lack_their_ends_and_channels(
    text: str, thought: str | None, words: str, calls: int
) -> None:
    tokenizer = formats("gpt_oss").tokenizer
    ids = np.array(tokenizer.encode(text, add_special_tokens=False), dtype=np.int32)
    generation = Generation([], ids, np.zeros(len(ids), np.float32), text, truncated=False)
    answer = ToolFormat(*HARMONY, tokenizer).parse(generation, (TOOL,), None, 1)
    assert (answer.reasoning, answer.content) == (thought, words)
    assert [made.name for made in answer.tool_calls] == ["make_move"] * calls


REASONING = {
    "qwen3": "<think>\nI think.\n</think>\n\nI say.",
    "qwen3_5": "I think.\n</think>\n\nI say.",  # its generation prompt opens the reasoning
    "deepseek_r1": "I think.\n</think>\n\nI say.",
    "gpt_oss": "<|channel|>analysis<|message|>I think.<|end|><|start|>assistant<|channel|>final<|message|>I say.",
}


@pytest.mark.parametrize("name", REASONING)
def test_reasoning_is_read_and_its_loss_is_a_fork_with_that_reason(name: str) -> None:
    chosen = formats(name)
    talk = Talk(chosen, has_tools=False)
    talk.put(Message("user", "What?"))
    answer = talk.speak(Line(chosen.tokenizer.encode(REASONING[name], add_special_tokens=False)))
    assert (answer.reasoning or "").strip() == "I think." and answer.content.strip() == "I say."
    talk.put(Message("user", "And then?"))
    talk.speak(Line(as_text(chosen, "Then this.")))
    assert talk.forks == ["reasoning_stripped"]
    first, second = (chosen.tokenizer.decode(sample.token_ids) for sample in talk.thread.ledger.samples)
    assert "I think." in first and "I think." not in second and "I say." in second


def test_words_without_any_reasoning_are_words() -> None:
    """A guessed reasoning parser does not change this, although it takes text without an end mark for reasoning."""
    for name in ("qwen3", "gpt_oss", "smollm2"):
        talk = Talk(formats(name), has_tools=False)
        talk.put(Message("user", "What?"))
        text = "<|channel|>final<|message|>Just this." if name == "gpt_oss" else "Just this."
        answer = talk.speak(Line(talk.formats.tokenizer.encode(text, add_special_tokens=False)))
        assert answer.content == "Just this." and not answer.reasoning


@pytest.mark.parametrize(
    ("model", "template", "parsers"),
    [
        ("Qwen/Qwen3-Coder-30B-A3B", "<tool_call>\n<function=", Parsers("qwen3_xml", None)),
        ("zai-org/GLM-4.5-Air", "<tool_call> <arg_key> enable_thinking", Parsers("glm45", "glm45")),
        ("zai-org/GLM-4.7", "<tool_call> <arg_key> enable_thinking", Parsers("glm47", "glm47")),
        ("nvidia/Nemotron-3-Nano", "<tool_call>\n<function= <think>", Parsers("qwen3_xml", "nemotron_v3")),
        ("mine", "nothing of the kind", Parsers(None, None)),
    ],
)
def test_families_are_told_apart(model: str, template: str, parsers: Parsers) -> None:
    assert guess_parsers(model, template) == parsers


def test_every_name_that_is_guessed_is_one_of_vllms() -> None:
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    from ray_gym.deployments.chat import parsers, plain_calls

    for family in parsers._FAMILIES:
        assert family.tool is None or family.tool in {plain_calls.NAME, *ToolParserManager.lazy_parsers}
        assert family.reasoning is None or family.reasoning in ReasoningParserManager.lazy_parsers


def chosen(template: str, *, shows_tools: bool = True, uses_tools: bool = True, **options: str) -> Parsers:
    return choose_parsers(ChatOptions(**options), "m", template, shows_tools=shows_tools, uses_tools=uses_tools)  # type: ignore[arg-type]


def test_the_config_wins_over_the_guess() -> None:
    template = "<tool_call> <think>"
    assert chosen(template) == Parsers("hermes", "qwen3")
    assert chosen(template, tool_parser="pythonic", reasoning_parser="olmo3") == Parsers("pythonic", "olmo3")
    assert chosen(template, reasoning_parser="none") == Parsers("hermes", None)


def test_a_model_whose_calls_nobody_can_read_is_refused_if_there_are_tools() -> None:
    assert chosen("who knows", uses_tools=False) == Parsers(None, None)
    with pytest.raises(UserError, match="set tool_parser to vLLM's name"):
        chosen("who knows")
    with pytest.raises(UserError, match="set chat_template and tool_parser"):
        chosen("who knows", shows_tools=False)
    assert chosen("<|im_start|>", shows_tools=False) == Parsers("plain", None)
