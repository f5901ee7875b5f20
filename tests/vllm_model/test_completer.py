"""One model call around an engine's double: what is checked, what is refused, and what leaves the event loop."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xgrammar
import xgrammar.testing
from engine_double import EngineDouble, Line
from msgspec import structs

from ray_gym.deployments.chat import completer as completer_module
from ray_gym.deployments.chat.chat_format import ChatFormat
from ray_gym.deployments.chat.checkpoint import load_tokenizer
from ray_gym.deployments.chat.completer import Completer
from ray_gym.deployments.chat.formats import make_formats
from ray_gym.deployments.chat.options import ChatOptions
from ray_gym.deployments.chat.token_engine import Generation, GenerationRequest, Grammar
from ray_gym.deployments.chat.tool_format import ToolFormat
from ray_gym.deployments.small_model import NAME
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.messages import Message, ToolSchema
from ray_gym.models.base import CompletionRequest, Sampling
from ray_gym.models.stored import restore, store

TOKENS = load_tokenizer(NAME)
END = TOKENS.stop_ids[0]
CHAT, TOOLS = make_formats(ChatOptions(), NAME, TOKENS, uses_tools=True)
MOVE = ToolSchema("make_move", "", {"type": "object", "properties": {"position": {"type": "integer"}}})


def ids_of(text: str) -> list[int]:
    ids: list[int] = TOKENS.tokenizer.encode(text, add_special_tokens=False)
    return ids


def double(*texts: str, **more: Any) -> EngineDouble:
    return EngineDouble(TOKENS.tokenizer, END, lines=[Line(ids_of(text)) for text in texts], **more)


def request(text: str = "Hello", **more: Any) -> CompletionRequest:
    return CompletionRequest([Message("user", text)], more.pop("sampling", Sampling()), "session", 1, **more)


async def test_a_context_without_room_calls_no_engine() -> None:
    engine = double(max_model_len=10)
    completion = await Completer(CHAT, TOOLS, engine).complete(request("word " * 50))
    assert completion.finish_reason == "context_full" and not completion.has_tokens and engine.prompts == []


async def test_a_context_that_fills_up_is_told_from_an_output_limit() -> None:
    prompt = len(CHAT.prompt([Message("user", "Hello")], [], 0, np.zeros(0, np.int32)).new_ids)
    full = await Completer(CHAT, TOOLS, double("one two three four", max_model_len=prompt + 2)).complete(request())
    assert (full.finish_reason, len(full.token_ids)) == ("context_full", 2) and full.message.content
    short = await Completer(CHAT, TOOLS, double("one two three four")).complete(
        request(sampling=Sampling(max_tokens=2))
    )
    assert (short.finish_reason, len(short.token_ids)) == ("length", 2) and short.message.content


async def test_half_a_call_is_words() -> None:
    asked = request(tools=(MOVE,), allowed_tools=(MOVE,), sampling=Sampling(max_tokens=4))
    completion = await Completer(CHAT, TOOLS, double('make_move {"position": 4}')).complete(asked)
    assert completion.message.tool_calls == () and completion.message.content.startswith("make_move")
    whole = await Completer(CHAT, TOOLS, double('make_move {"position": 4}')).complete(
        structs.replace(asked, sampling=Sampling())
    )
    assert [call.arguments for call in whole.message.tool_calls] == ['{"position": 4}']


async def test_where_no_call_is_asked_for_there_is_none_though_tools_are_shown() -> None:
    asked = request(tools=(MOVE,), allowed_tools=(MOVE,), tool_choice="none")
    completion = await Completer(CHAT, TOOLS, double('make_move {"position": 4}')).complete(asked)
    assert completion.message.tool_calls == () and completion.message.content == 'make_move {"position": 4}'


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FORM = json.dumps({"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA, "strict": True}})


class Noting(EngineDouble):
    """Keeps the grammars that it was given."""

    async def generate(self, request: GenerationRequest) -> Generation:
        self.grammars = [*getattr(self, "grammars", []), request.grammar]
        return await super().generate(request)


def accepts(grammar: Grammar, text: str) -> bool:
    assert grammar.kind == "structural_tag"
    compiled = xgrammar.Grammar.from_structural_tag(grammar.text)
    return bool(xgrammar.testing._is_grammar_accept_string(compiled, text))


async def test_an_answer_is_held_to_the_form_that_was_asked_for_or_is_a_call() -> None:
    place, call = '{"city": "Oslo"}', 'make_move {"position": 4}'
    for form, tools, choice, taken in (
        (FORM, (), "auto", [True, False, False]),
        (FORM, (MOVE,), "none", [True, False, False]),
        (FORM, (MOVE,), "auto", [True, True, False]),
        (FORM, (MOVE,), "required", [False, True, False]),
        ('{"type": "json_object"}', (), "auto", [True, False, True]),
    ):
        engine = Noting(TOKENS.tokenizer, END, lines=[Line(ids_of(place))])
        asked = request(response_format=form, tools=tools, allowed_tools=tools, tool_choice=choice)
        completion = await Completer(CHAT, TOOLS, engine).complete(asked)
        assert (completion.kind, completion.message.content) == ("constrained", place) or choice == "required"
        assert [accepts(engine.grammars[0], text) for text in (place, call, '{"town": 1}')] == taken


async def test_calls_without_a_form_of_their_own_go_with_no_other_form() -> None:
    bare = ToolFormat(None, None, TOKENS.tokenizer)
    asked = request(response_format=FORM, tools=(MOVE,), allowed_tools=(MOVE,))
    with pytest.raises(EpisodeFailure, match="no tags of their own") as caught:
        await Completer(CHAT, bare, double("x")).complete(asked)
    assert (caught.value.failure.kind, caught.value.failure.where) == (FailureKind.DATA, "response_format")


async def test_an_engine_that_was_given_other_ids_fails_the_call() -> None:
    class Forgetful(EngineDouble):
        async def generate(self, request: GenerationRequest) -> Generation:
            return replace(await super().generate(request), prompt_ids=request.prompt_ids[1:])

    engine = Forgetful(TOKENS.tokenizer, END, lines=[Line(ids_of("x"))])
    with pytest.raises(EpisodeFailure, match="other token ids than the history") as caught:
        await Completer(CHAT, TOOLS, engine).complete(request())
    assert caught.value.failure.kind == FailureKind.INFRA


async def test_messages_that_the_template_refuses_are_the_tasks_fault() -> None:
    fussy = ChatFormat(TOKENS.tokenizer, TOKENS.stop_ids, "{{ raise_exception('no such role') }}")
    with pytest.raises(EpisodeFailure, match="no such role") as caught:
        await Completer(fussy, TOOLS, double("x")).complete(request())
    assert caught.value.failure.kind == FailureKind.DATA


async def test_long_renderings_leave_the_event_loop_and_short_ones_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    original = ChatFormat.prompt

    def noting(self: ChatFormat, *arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return original(self, *arguments)

    monkeypatch.setattr(ChatFormat, "prompt", noting)
    monkeypatch.setattr(completer_module, "INLINE_S", 0.02)
    completer = Completer(CHAT, TOOLS, double("a", "b", "c"))
    await completer.complete(request("word " * 20_000))
    await completer.complete(request("word"))
    assert threads[0].startswith("chat-format") and threads[1] == threading.main_thread().name


async def test_what_was_sampled_how_is_told() -> None:
    for sampling, tool_choice, kind in (
        (Sampling(temperature=0.7), "auto", "plain"),
        (Sampling(temperature=0), "auto", "truncated"),
        (Sampling(top_p=0.9), "auto", "truncated"),
        (Sampling(repetition_penalty=1.1), "auto", "truncated"),
        (Sampling(), "required", "constrained"),
    ):
        asked = request(sampling=sampling, tools=(MOVE,), allowed_tools=(MOVE,), tool_choice=tool_choice)
        completion = await Completer(CHAT, TOOLS, double('make_move {"position": 4}')).complete(asked)
        assert completion.kind == kind and (completion.grammar is not None) == (kind == "constrained")


async def test_a_count_of_tokens_is_that_of_the_prompt() -> None:
    engine = double("Hi.")
    completer, asked = Completer(CHAT, TOOLS, engine), request("Hello", tools=(MOVE,), allowed_tools=(MOVE,))
    counted = await completer.count_tokens(asked)
    assert engine.prompts == [] and counted == (await completer.complete(asked)).prompt_tokens
    with pytest.raises(EpisodeFailure) as refused:
        plain = ChatFormat(TOKENS.tokenizer, TOKENS.stop_ids, "{{ raise_exception('no') }}")
        await Completer(plain, TOOLS, engine).count_tokens(request())
    assert refused.value.failure.kind is FailureKind.DATA


async def test_the_text_that_ended_an_answer_is_told() -> None:
    class Stopping(EngineDouble):
        async def generate(self, request: GenerationRequest) -> Generation:
            return replace(await super().generate(request), stop_text="END")

    completer = Completer(CHAT, TOOLS, Stopping(TOKENS.tokenizer, END, lines=[Line(ids_of("Hi."))]))
    completion = await completer.complete(request(sampling=Sampling(stop=("END",))))
    assert completion.stop_text == restore(store(completion)).stop_text == "END"
