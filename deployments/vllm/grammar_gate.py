"""Checks callers' grammars before vLLM gets them: it would parse them on the event loop, and compile them without a
limit of time.

A grammar is parsed in a thread, and then compiled by the engine for a request of one token: the engine caches what it
has compiled. Both have deadlines. A thread that parses or compiles can't be stopped, and continues after its deadline.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

READ_S = 2.0
"""Seconds to parse a grammar."""
COMPILE_S = 20.0
"""Seconds to compile a grammar."""
REMEMBERED = 4096
"""Number of admitted grammars that a gate remembers."""
LONGEST_PROBLEM = 500
"""Largest number of characters of an error about a grammar."""
KINDS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")
"""vLLM's names of the notations of a grammar."""

Outputs = Mapping[str, Any]
"""Grammar as arguments of vLLM's StructuredOutputsParams: its text or data by its kind."""


class GrammarRefused(Exception):
    """Says why a grammar is refused."""


class GrammarGate:
    """Admits grammars that can be compiled in time, and remembers them. It is safe for many concurrent calls on one
    event loop.
    """

    def __init__(self, engine: Any, read_s: float = READ_S, compile_s: float = COMPILE_S) -> None:
        """Creates a gate. `engine`: vLLM's AsyncLLM. `read_s`, `compile_s`: deadlines in seconds."""
        self._engine = engine
        self._read_s, self._compile_s = read_s, compile_s
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="grammars")
        self._is_warm = False
        self._admitted: OrderedDict[bytes, None] = OrderedDict()

    async def admit(self, outputs: Outputs) -> None:
        """Parses and compiles a grammar within the deadlines, unless it was admitted before. Errors: GrammarRefused if
        it is malformed, can't be compiled, or is not compiled in time.
        """
        key = hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).digest()
        if key in self._admitted:
            self._admitted.move_to_end(key)
            return
        if not self._is_warm:
            await asyncio.to_thread(_read, {"json": {"type": "object"}})  # imports take longer than any grammar
            self._is_warm = True
        try:
            async with asyncio.timeout(self._read_s):
                problem = await asyncio.get_running_loop().run_in_executor(self._threads, _read, outputs)
            async with asyncio.timeout(self._compile_s):
                await self._compile(outputs, problem)
        except TimeoutError:
            late = "the grammar can't be compiled in time: make it simpler, or retry later, if others send many"
            raise GrammarRefused(late) from None
        self._admitted[key] = None
        if len(self._admitted) > REMEMBERED:
            self._admitted.popitem(last=False)

    async def _compile(self, outputs: Outputs, problem: str | None) -> None:
        """Has the engine compile a grammar. `problem`: error of `_read`, or None; the engine may still have a compiler
        that accepts the grammar. Errors: GrammarRefused if the engine refuses the grammar.
        """
        from vllm import SamplingParams
        from vllm.exceptions import VLLMClientError
        from vllm.inputs import TokensPrompt

        last = None
        sampling = SamplingParams(max_tokens=1, structured_outputs=_params(outputs))
        try:
            async for output in self._engine.generate(TokensPrompt(prompt_token_ids=[1]), sampling, uuid.uuid4().hex):
                last = output
        except (VLLMClientError, ValueError) as error:
            raise GrammarRefused(problem or str(error)) from error
        if last is not None and last.outputs[0].finish_reason == "error":
            raise GrammarRefused(problem or "it can't be compiled to a grammar")


def outputs_of(body: Mapping[str, Any]) -> list[Outputs]:
    """Returns the grammars in the body of a request in OpenAI's formats: of its format for the answer, its
    `structured_outputs` and its tools. Malformed ones are left out: vLLM refuses them.
    """
    text = body.get("text")
    formats = [body.get("response_format"), text.get("format") if isinstance(text, dict) else None]
    found = [outputs for form in formats if isinstance(form, dict) and (outputs := _of_format(form))]
    if isinstance(given := body.get("structured_outputs"), dict):
        found += [{kind: given[kind]} for kind in KINDS if given.get(kind)]
    if schemas := _of_tools(body):
        found.append({"json": {"anyOf": schemas}})
    return found


def _of_format(form: Mapping[str, Any]) -> Outputs | None:
    inner = form.get("json_schema", form)
    if form.get("type") == "json_schema" and isinstance(inner, dict) and isinstance(inner.get("schema"), dict):
        return {"json": inner["schema"]}
    return {"structural_tag": json.dumps(form)} if form.get("type") == "structural_tag" else None


def _of_tools(body: Mapping[str, Any]) -> list[Any]:
    """Returns the schemas of the tools whose calls vLLM may constrain: those of all tools if `tool_choice` may force a
    call, else those of strict tools.
    """
    tools = body.get("tools")
    listed = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    functions = [inner for tool in listed if isinstance(inner := tool.get("function", tool), dict)]
    choice = body.get("tool_choice")
    forced = choice == "required" or isinstance(choice, dict)
    return [
        function["parameters"]
        for function in functions
        if isinstance(function.get("parameters"), dict) and (forced or function.get("strict"))
    ]


def _read(outputs: Outputs) -> str | None:
    """Parses a grammar as vLLM does with xgrammar. Returns the error, or None; the engine may have another compiler
    that accepts the grammar. Errors: GrammarRefused if vLLM takes no such grammar at all.
    """
    from vllm import SamplingParams
    from vllm.exceptions import VLLMClientError
    from vllm.v1.structured_output.backend_xgrammar import validate_xgrammar_grammar

    try:
        validate_xgrammar_grammar(SamplingParams(structured_outputs=_params(outputs)))
    except (VLLMClientError, ValueError, TypeError) as error:
        told, cause = str(error), str(error.__cause__ or "")
        return (told if cause in told else f"{told} {cause}")[:LONGEST_PROBLEM]
    return None


def _params(outputs: Outputs) -> Any:
    """Returns a grammar as vLLM's StructuredOutputsParams. Errors: GrammarRefused if they can't be made of it."""
    from vllm.exceptions import VLLMClientError
    from vllm.sampling_params import StructuredOutputsParams

    try:
        return StructuredOutputsParams(**outputs)
    except (VLLMClientError, ValueError, TypeError) as error:
        raise GrammarRefused(str(error)) from error
