"""Grammars of callers are read and compiled within deadlines, or refused. Imports vLLM, but starts no engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from ray_gym.deployments.vllm.grammar_gate import GrammarGate, GrammarRefused, outputs_of

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
SLOW_TO_READ = {"type": "string", "pattern": "((a{1,200}){1,200}){1,200}"}


class Compiling:
    """Imitates an engine that compiles for ever, or that ends a request at once with the given reason."""

    def __init__(self, finish_reason: str | None = "length") -> None:
        self.finish_reason = finish_reason
        self.given: list[Any] = []
        self.aborted = asyncio.Event()

    async def generate(self, prompt: Any, sampling: Any, request_id: str) -> AsyncIterator[Any]:
        assert sampling.max_tokens == 1
        self.given.append(sampling.structured_outputs.json)
        try:
            if self.finish_reason is None:
                await asyncio.Event().wait()
            yield SimpleNamespace(outputs=[SimpleNamespace(finish_reason=self.finish_reason)])
        except asyncio.CancelledError:
            self.aborted.set()
            raise


async def test_a_grammar_is_compiled_once_before_it_is_let_through() -> None:
    engine = Compiling()
    gate = GrammarGate(engine)
    for _ in range(2):
        await gate.admit({"json": SCHEMA})
    await gate.admit({"json": {"type": "array"}})
    assert engine.given == [SCHEMA, {"type": "array"}]


async def test_a_grammar_that_takes_too_long_to_read_never_reaches_the_engine() -> None:
    engine = Compiling()
    with pytest.raises(GrammarRefused, match="in time"):
        await GrammarGate(engine, read_s=0.001).admit({"json": SLOW_TO_READ})
    assert engine.given == []


async def test_a_grammar_that_takes_too_long_to_compile_is_given_up() -> None:
    engine = Compiling(finish_reason=None)
    gate = GrammarGate(engine, compile_s=0.05)
    for _ in range(2):
        with pytest.raises(GrammarRefused, match="in time"):
            await gate.admit({"json": SCHEMA})
    assert engine.aborted.is_set() and len(engine.given) == 2


async def test_what_is_no_grammar_is_told() -> None:
    with pytest.raises(GrammarRefused, match="compiled to a grammar"):
        await GrammarGate(Compiling("error")).admit({"json": SCHEMA})
    with pytest.raises(GrammarRefused, match="parenthesis is not closed"):
        await GrammarGate(Compiling("error")).admit({"json": {"type": "string", "pattern": "("}})
    with pytest.raises(GrammarRefused, match="only use one"):
        await GrammarGate(Compiling()).admit({"json": SCHEMA, "regex": "a"})


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, []),
        ({"response_format": {"type": "text"}}, []),
        ({"response_format": {"type": "json_object"}}, []),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}, [{"json": SCHEMA}]),
        ({"text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}}}, [{"json": SCHEMA}]),
        ({"structured_outputs": {"regex": "a+", "whitespace_pattern": "x"}}, [{"regex": "a+"}]),
        ({"tools": [{"function": {"parameters": SCHEMA}}]}, []),
        ({"tools": [{"function": {"parameters": SCHEMA}}], "tool_choice": "required"}, [{"json": {"anyOf": [SCHEMA]}}]),
        ({"tools": [{"function": {"parameters": SCHEMA, "strict": True}}]}, [{"json": {"anyOf": [SCHEMA]}}]),
        ({"tools": [{"name": "f", "parameters": SCHEMA}], "tool_choice": {"type": "function"}}, [{"json": {"anyOf": [SCHEMA]}}]),
        ({"response_format": 3, "text": [], "structured_outputs": "x", "tools": {"a": 1}}, []),
    ],
)  # fmt: skip
def test_where_grammars_come_from(body: Any, found: Any) -> None:
    assert outputs_of(body) == found
