"""Checks random conversations in many families of chat templates: the ledger holds what the engine was given and said.

The thread, ledger, chat format and parsers are real; the engine is a double that records its input (these models can't
run here).
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from engine_double import Line
from families import FAMILY_NAMES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from talk import CONTROL_STRINGS, Talk, as_text, as_the_template_writes, formats

from ray_gym.errors import EpisodeFailure
from ray_gym.messages import Message, ToolCall, ToolSchema

APPEND_ONLY = {"smollm2", "smollm2_tools", "llama3", "llama3_2", "qwen2_5", "gemma3"}
"""Families whose templates, without reasoning, never rewrite what came before."""

words = st.text("abc 019.,!?'{}\"\n é日🙂", max_size=24)  # no two of them next to each other spell a control string
texts = st.lists(st.one_of(words, words, st.sampled_from(CONTROL_STRINGS)), max_size=4).map("".join)
plain_texts = st.text("abc 019.,!?é日", min_size=1, max_size=24).map(lambda text: f"a{text}b")
arguments = st.fixed_dictionaries({"position": st.integers(0, 8)}, optional={"why": texts})


@st.composite
def moves(draw: st.DrawFn) -> dict[str, Any]:
    """Draws what the model does in one step, and what follows it."""
    kind = draw(st.sampled_from(["text", "text", "calls", "calls", "reasoning", "empty", "broken call", "raw ids"]))
    return {
        "kind": kind,
        "text": draw(texts),
        "arguments": draw(st.lists(arguments, min_size=1, max_size=2)),
        "ids": draw(st.lists(st.integers(300, 30_000), max_size=8)),
        "cut": draw(st.integers(0, 12)) == 0,
        "replies": draw(st.lists(texts, min_size=1, max_size=2)),
        "told": draw(st.booleans()),  # whether a message follows the results of tools before the model speaks again
    }


def said_by(talk: Talk, move: dict[str, Any]) -> Line:
    chosen, text = talk.formats, move["text"]
    if move["kind"] == "empty":
        return Line([])
    if move["kind"] == "raw ids":
        return Line([number for number in move["ids"] if number not in chosen.stop_ids])
    if move["kind"] == "reasoning":
        return Line(as_the_template_writes(talk, Message("assistant", text, "Let me see.")) or as_text(chosen, text))
    if talk.tools and move["kind"] == "calls":
        calls = tuple(ToolCall(f"abcdefgh{n}", "make_move", json.dumps(a)) for n, a in enumerate(move["arguments"]))
        written = as_the_template_writes(talk, Message("assistant", "", tool_calls=calls))
        return Line(written if written is not None else as_text(chosen, text))
    if talk.tools and move["kind"] == "broken call":
        call = ToolCall("abcdefgh0", "make_move", json.dumps(move["arguments"][0]))
        written = as_the_template_writes(talk, Message("assistant", "", tool_calls=(call,))) or []
        return Line(written[: len(written) * 2 // 3])
    return Line(as_text(chosen, text))


def play(talk: Talk, script: list[dict[str, Any]]) -> None:
    for move in script:
        line = said_by(talk, move)
        try:
            answer = talk.speak(line, max(1, len(line.ids) // 2) if move["cut"] else 10_000)
        except EpisodeFailure as failure:
            # Some templates refuse what some tasks begin with. What a model says is never refused.
            assert "the chat template refuses the messages" in failure.failure.message and talk.thread.known == 0
            return
        for call, reply in zip(answer.tool_calls, move["replies"] * 9, strict=False):
            talk.put(Message("tool", reply, tool_call_id=call.id))
        if not answer.tool_calls or move["told"]:
            for reply in move["replies"]:
                talk.put(Message("user", reply))


@pytest.mark.parametrize("name", FAMILY_NAMES)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    system=st.one_of(st.none(), texts),
    opening=st.lists(texts, max_size=2),
    earlier=st.booleans(),
    has_tools=st.booleans(),
    script=st.lists(moves(), min_size=1, max_size=5),
)
def test_the_ledger_is_what_the_engine_was_given(
    name: str, system: str | None, opening: list[str], earlier: bool, has_tools: bool, script: list[dict[str, Any]]
) -> None:
    chosen = formats(name)
    talk = Talk(chosen, has_tools and chosen.takes_tools)
    if system is not None:
        talk.put(Message("system", system))
    if earlier:  # turns that the task brings along are prompt
        talk.put(Message("user", "Hello."))
        talk.put(Message("assistant", "".join(opening) or "Hm."))
    for text in opening or ["Well?"] * earlier:
        talk.put(Message("user", text))
    if talk.thread.messages:  # a system prompt alone is enough for one who speaks first
        play(talk, script)


@pytest.mark.parametrize("name", sorted(APPEND_ONLY & set(FAMILY_NAMES)))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    system=st.one_of(st.none(), plain_texts),
    script=st.lists(
        st.tuples(st.booleans(), plain_texts, plain_texts, arguments, st.booleans()), min_size=1, max_size=5
    ),
)
def test_templates_that_only_append_are_followed_to_the_letter(
    name: str, system: str | None, script: list[Any]
) -> None:
    """The deltas and the generated ids decode to the template's own rendering of the whole conversation."""
    chosen = formats(name)
    talk = Talk(chosen, chosen.takes_tools)
    if system is not None:
        talk.put(Message("system", system))
    talk.put(Message("user", "Go."))
    for calls_tool, said, reply, given_arguments, cut in script:
        call = ToolCall("abcdefgh0", "make_move", json.dumps({"position": given_arguments["position"]}))
        written = None
        if calls_tool and talk.tools:
            written = as_the_template_writes(talk, Message("assistant", "", tool_calls=(call,)))
        line = Line(as_text(chosen, said) if written is None else written)
        answer = talk.speak(line, len(line.ids) if cut and written is None else 10_000)
        assert not talk.forks
        for made in answer.tool_calls:
            talk.put(Message("tool", reply, tool_call_id=made.id))
        if not answer.tool_calls:
            talk.put(Message("user", reply))
        whole = talk.rendering()
        prompt = chosen.chat.prompt(talk.thread.messages, talk.tools, talk.thread.known, talk.thread.ledger.history)
        ids = [*talk.thread.ledger.history.tolist(), *prompt.new_ids.tolist()]
        assert _without_ids(chosen.tokenizer.decode(ids)) == _without_ids(whole)


def _without_ids(text: str) -> str:
    return re.sub(r"\b[0-9a-f]{9}\b|abcdefgh0", "ID", text)


@pytest.mark.parametrize("kind", ["text", "call", "call, then a message"])
@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_an_answer_is_closed_as_the_template_closes_it_however_it_ended(name: str, kind: str) -> None:
    """An answer may end with the template's end of turn, with another token that ends a generation, or by a limit."""
    chosen = formats(name)
    if kind != "text" and not chosen.takes_tools:
        return
    compared = 0
    for stop in [*chosen.stop_ids, None]:
        talk = Talk(chosen, has_tools=kind != "text")
        talk.put(Message("user", "Go."))
        call = ToolCall("abcdefgh0", "make_move", json.dumps({"position": 4}))
        said = Message("assistant", "Done.") if kind == "text" else Message("assistant", "", None, (call,))
        line = as_the_template_writes(talk, said)
        if name == "gpt_oss" and kind != "text" and stop == chosen.tokenizer.convert_tokens_to_ids("<|endoftext|>"):
            continue  # in a call it is part of that for vLLM's parser
        if line is None:  # its templates don't write what the model does: every answer forks
            continue
        if stop is not None:
            talk.engine.stop_id = stop
        answer = talk.speak(Line(line, ended=stop is not None))
        if stop is None and kind != "text":
            answer = Message("assistant", "", None, (call,))  # cut off, a call is words; here it was just not ended
            talk.thread.messages[-1] = answer
        for made in answer.tool_calls:
            talk.put(Message("tool", "true", tool_call_id=made.id))
        if kind != "call":
            talk.put(Message("user", "More."))
        prompt = chosen.chat.prompt(talk.thread.messages, talk.tools, talk.thread.known, talk.thread.ledger.history)
        if prompt.fork_reason is not None:
            continue
        compared += 1
        decode_json = _without_ids(
            chosen.tokenizer.decode([*talk.thread.ledger.history.tolist(), *prompt.new_ids.tolist()])
        )
        whole, other = _without_ids(talk.rendering()), chosen.tokenizer.convert_ids_to_tokens(stop) if stop else None
        assert decode_json == whole or (other is not None and whole in without_one(decode_json, other)), (
            decode_json,
            whole,
        )
        assert other is None or other * 2 not in decode_json, "an end of turn that was generated is not written again"
    assert compared or name in {
        "deepseek_v3",
        "deepseek_r1",
        "gpt_oss",
        "qwen3",
        "qwen3_5",
        "mistral",
        "mistral_v3",
        "glm4",
    }


def without_one(text: str, part: str) -> set[str]:
    pieces = text.split(part)
    return {part.join(pieces[:n]) + part.join(pieces[n:]) for n in range(1, len(pieces))}


def test_a_delta_on_a_sentencepiece_vocabulary_has_no_spaces_of_its_own() -> None:
    chosen = formats("mistral_chatml")
    talk = Talk(chosen, has_tools=False)
    talk.put(Message("user", "Go."))
    talk.speak(Line(as_text(chosen, "Done.")))
    talk.put(Message("user", "More <|im_end|> of it."))
    prompt = chosen.chat.prompt(talk.thread.messages, (), talk.thread.known, talk.thread.ledger.history)
    tokens = chosen.tokenizer.convert_ids_to_tokens(prompt.new_ids.tolist())
    assert tokens[:3] == ["<0x0A>", "<|im_start|>", "user"]
    assert "".join(tokens).count("▁") == 3, "the three that are in the text"
    assert chosen.tokenizer.encode("<|im_end|>", add_special_tokens=False)[-1] not in prompt.new_ids[:8]


@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_hostile_tools_give_no_control_ids(name: str) -> None:
    chosen = formats(name)
    if not chosen.takes_tools:
        return

    def controls(text: str) -> int:
        tool = ToolSchema(
            "make_move", text, {"type": "object", "properties": {text: {"type": "string", "description": text}}}
        )
        prompt = chosen.chat.prompt([Message("user", "Go.")], [tool], 0, np.zeros(0, np.int32))
        return sum(int(token) in chosen.controls for token in prompt.new_ids)

    assert controls("a " + " ".join(CONTROL_STRINGS)) == controls("a word")
