"""Reads a model's tool calls and reasoning out of its answers, and makes the grammars that force a call.

The parsers are vLLM's, except for models without a tool format of their own (`plain_calls`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from ray_gym.deployments.chat import (
    call_frames,
    call_values,
    escaped_calls,
    forced_calls,
    interleaved,
    plain_calls,
)
from ray_gym.deployments.chat.call_ids import call_ids
from ray_gym.deployments.chat.call_pieces import Attempt
from ray_gym.deployments.chat.call_spelling import (
    Call,
    are_named,
    end_of_parts,
    is_name,
    read_bare_name,
    read_json_call,
    spell_as_written,
    unquote_arguments,
    with_own_ids,
)
from ray_gym.deployments.chat.harmony import read_all_messages
from ray_gym.deployments.chat.lost_arguments import loses_arguments
from ray_gym.deployments.chat.python_calls import read_named
from ray_gym.deployments.chat.quoted_tags import reveal
from ray_gym.deployments.chat.token_engine import Generation, Grammar
from ray_gym.errors import UserError
from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import NO_TOKENS
from ray_gym.models.thoughts import has_mark, is_opened

HARMONY = ("openai", "openai_gptoss")
"""vLLM's names of the tool parser and the reasoning parser of gpt-oss."""


class ToolFormat:
    """A tool format reads and forces the tool calls of one model. It is safe in threads."""

    def __init__(self, tool_parser: str | None, reasoning_parser: str | None, tokenizer: Any) -> None:
        """Finds the parsers by their names in vLLM, such as hermes and qwen3. The tool parser `plain` is `plain_calls`;
        None means no parser.

        Errors: UserError for names that vLLM does not know, and parsers that do not fit the tokenizer.
        """
        from vllm.reasoning import ReasoningParserManager
        from vllm.tool_parsers import ToolParserManager

        self._plain = tool_parser == plain_calls.NAME
        self.tool_parser, self.reasoning_parser = tool_parser, reasoning_parser
        vllm_name = None if self._plain else tool_parser
        self._tool_parser = _look_up("tool_parser", vllm_name, ToolParserManager.get_tool_parser)
        _look_up("reasoning_parser", reasoning_parser, ReasoningParserManager.get_reasoning_parser)
        self._tokenizer = _cache_vocabulary(tokenizer)
        self._parser = self._compose_parser(vllm_name, reasoning_parser)
        # vLLM's parser for gpt-oss is one class, configured by attributes, so there can't be a second one.
        self._call_parser = self._compose_parser(vllm_name, None) if reasoning_parser != HARMONY[1] else self._parser
        self.grammar = lru_cache(maxsize=4096)(self._grammar)
        self.keeps_control_tokens = lru_cache(maxsize=2)(self._keeps_control_tokens)

    @property
    def reads_calls(self) -> bool:
        """Returns True if there is a parser of tool calls."""
        return self._plain or self._tool_parser is not None

    def parse(
        self, generation: Generation, tools: Sequence[ToolSchema], grammar: Grammar | None, id_seed: int
    ) -> Message:
        """Returns the message of a generation: its text, reasoning and tool calls. A call that can't be read becomes a
        call without a name, which is answered with an error. An answer on which a parser raises is taken as text.

        `tools`: tools that the answer may call; none if it may call none. `grammar`: the one that constrained the
        generation, if any. `id_seed`: seed of the ids of calls for which the model wrote none.
        """
        try:
            reasoning, content, calls = self._read_answer(generation, tools, grammar)
        except Exception:  # parsers raise for some malformed answers: these are text
            reasoning, content, calls = None, generation.text, []
        ids = call_ids([own if own in generation.text else "" for own, _, _ in calls], id_seed)
        read = [(name, unquote_arguments(arguments) if name else arguments) for _, name, arguments in calls]
        made = tuple(ToolCall(id, *call) for id, call in zip(ids, read, strict=True))
        return Message("assistant", content, reasoning, made)

    def _read_answer(
        self, generation: Generation, tools: Sequence[ToolSchema], grammar: Grammar | None
    ) -> tuple[str | None, str, list[Call]]:
        text = generation.text
        if grammar is not None and grammar.kind == "json":
            return self._read_forced(generation)
        reasoning, rest, calls, answer = self._parse(generation, tools)
        if tools and self._plain:
            thoughts, content, read = plain_calls.read_beside_thoughts(rest, [tool.name for tool in tools])
            if not read:
                return reasoning, rest, []
            reasoning = "\n".join(filter(None, (reasoning, thoughts))) or None
            return reasoning, content, [("", name, arguments) for name, arguments in read]
        if tools:
            names = [tool.name for tool in tools]
            said, attempts = call_frames.cut(self.tool_parser, answer, names)
            if self.tool_parser == escaped_calls.PARSER and attempts:
                return reasoning, said, escaped_calls.read(attempts, tools)
            has_example = call_frames.has_example(self.tool_parser, answer, names)
            if has_example or any(attempt.is_respelled for attempt in attempts):
                calls = []  # as they stand, they are misread
            if has_example and not attempts:
                return reasoning, answer, []
            is_mark = call_frames.has_mark(self.tool_parser, answer)
            if is_mark and len(calls) > len(attempts) and not are_named(calls, names):
                calls = []  # a mention is taken for a call
            if len(calls) <= len(attempts) > 0:
                made = self._read_attempts(attempts, calls, tools)
                return reasoning, said, with_own_ids(made, [attempt.id for attempt in attempts])
        if calls and not call_frames.has_mention(self.tool_parser, answer):
            return reasoning, rest.strip(), spell_as_written(calls, text, end_of_parts(text, reasoning, rest.strip()))
        if tools and call_frames.has_mark(self.tool_parser, answer):
            return reasoning, call_frames.words_alone(self.tool_parser, answer), []
        return reasoning, rest, []

    def _read_forced(self, generation: Generation) -> tuple[str | None, str, list[Call]]:
        """Returns the reasoning, words and calls of an answer in vLLM's form for forced calls. Only with a reasoning parser
        may thoughts be before the calls: the grammar begins behind these.
        """
        if self.reasoning_parser is None:
            return None, "", forced_calls.read(generation.text)
        return forced_calls.read_behind_thoughts(generation.text, is_opened(self._end_of_prompt(generation)))

    def _read_attempts(self, attempts: Sequence[Attempt], calls: list[Call], tools: Sequence[ToolSchema]) -> list[Call]:
        """Returns the calls that a model began, of which the parser read `calls`. Unless it read all of them, with all
        of their arguments, each is read by itself, and one that can't be read has no name, unless it is a name and
        nothing else. `calls` stay if even so no more can be read.
        """
        names = [tool.name for tool in tools]
        read = sum(is_name(name, names) for _, name, _ in calls)
        kept: list[Call | None] | None = None
        if read == len(attempts):
            pairs = zip(calls, attempts, strict=True)
            kept = self._drop_lossy([spell_as_written([call], attempt.written)[0] for call, attempt in pairs], attempts)
        if kept is None or None in kept:
            alone = [self._read_call(attempt, tools) for attempt in attempts]
            if sum(call is not None for call in alone) >= read:
                kept = self._drop_lossy(alone, attempts)
        if kept is None:
            return spell_as_written(calls, "".join(attempt.written for attempt in attempts))
        return [
            ("", *read_bare_name(attempt.written)) if call is None else call
            for call, attempt in zip(kept, attempts, strict=True)
        ]

    def _drop_lossy(self, calls: Sequence[Call | None], attempts: Sequence[Attempt]) -> list[Call | None]:
        """Returns the calls that were read in attempts, and None for each of which the parser dropped arguments."""
        return [
            None if call is not None and loses_arguments(self.tool_parser, attempt, call[2]) else call
            for call, attempt in zip(calls, attempts, strict=True)
        ]

    def _read_call(self, attempt: Attempt, tools: Sequence[ToolSchema]) -> Call | None:
        """Returns one of several calls, read by itself, so that one that can't be read does not spoil the others; None
        if it can't be read.
        """
        names = [tool.name for tool in tools]
        for known in (tools, None):  # some parsers read no call of a tool that there is not
            calls = self._parse_by(self._call_parser, attempt.alone, known).calls
            if len(calls) == 1 and is_name(calls[0][1], names):
                id, name, arguments = calls[0]
                return spell_as_written([(id, name, reveal(arguments))], attempt.written)[0]
        if self.tool_parser in call_frames.PYTHON_CALLS and (named := read_named(attempt.written, names)):
            return "", *named
        return read_json_call(attempt.written) if self.tool_parser in call_frames.JSON_CALLS else None

    def _parse(self, generation: Generation, tools: Sequence[ToolSchema]) -> _Reading:
        """Returns an answer as vLLM's parsers read it. If they take words for reasoning, but there are no marks of reasoning,
        it is read again without the reasoning parser.
        """
        text, token_ids = generation.text, generation.token_ids
        if self._parser is None:
            return _Reading(None, text, [], text)
        is_mark_alone = not tools and call_frames.has_call_or_mention(self.tool_parser, text)
        if is_mark_alone and not self._has_reasoning_marks(generation):  # parsers take what is before it for reasoning
            return _Reading(None, call_frames.words_alone(self.tool_parser, text), [], text)
        reading = self._parse_by(self._parser, text, tools, token_ids)
        if self._tells_thoughts and (apart := self._parse_interleaved(generation, tools)) is not None:
            return apart
        if self._is_unmarked(reading, generation):
            if self._call_parser is None:
                return _Reading(None, text, [], text)
            return self._parse_by(self._call_parser, text, tools, token_ids)
        return reading

    def _is_unmarked(self, reading: _Reading, generation: Generation) -> bool:
        """Says whether a parser took the whole of an answer for reasoning, or what is before a call (or its mark, which may be
        a part of another call), though nothing marks the beginning or the end of any.
        """
        if not reading.reasoning or has_mark(generation.text) or is_opened(self._end_of_prompt(generation)):
            return False
        is_all = not reading.words and not reading.calls
        return is_all or generation.text.removesuffix(reading.answer).strip() == reading.reasoning.strip()

    @property
    def _tells_thoughts(self) -> bool:
        """Says whether thoughts can be told from words and calls here as well as by vLLM's parsers."""
        knows_calls = self.tool_parser is None or self._plain or self.tool_parser in call_frames.FRAMES
        return self.reasoning_parser != HARMONY[1] and knows_calls

    def _parse_interleaved(self, generation: Generation, tools: Sequence[ToolSchema]) -> _Reading | None:
        """Returns an answer with several thoughts, or marks of thoughts that are text, as `interleaved` and the parser of
        calls read it; None for any other answer. Without a parser of reasoning, thoughts are told later, and the only
        such answer is one whose thought weighs up a call.
        """
        text, names = generation.text, [tool.name for tool in tools]
        frames = call_frames.complete_frames(self.tool_parser, text, names)
        opened = is_opened(self._end_of_prompt(generation))
        has_call_mark = partial(call_frames.has_mark, self.tool_parser)
        is_several = self.reasoning_parser is not None and interleaved.is_interleaved(text, frames)
        if not is_several and not interleaved.is_weighed_up(text, opened, frames, has_call_mark):
            return None
        if self._plain:  # it tells thoughts from calls by itself
            return _Reading(None, text, [], "")
        thoughts, answer = interleaved.thoughts_and_answer(text, opened, frames)
        if self._call_parser is None:
            return _Reading(thoughts or None, answer, [], answer)
        read = self._parse_by(self._call_parser, answer, tools)
        return _Reading(thoughts or None, read.words, read.calls, answer)

    def _parse_by(
        self, parser: Any, text: str, tools: Sequence[ToolSchema] | None, token_ids: Any = NO_TOKENS
    ) -> _Reading:
        """Returns a text as one of vLLM's parsers reads it. If it raises for the calls of a format whose frames are
        known, the calls are none. `tools`: None reads calls of any tool; of none of them, what looks like a call is words.
        """
        choice = None if tools is None else "auto" if tools else "none"
        request = _chat_request(call_values.tools_for_parser(self.tool_parser, tools or ()), choice)
        made = parser(self._tokenizer, request.tools)
        knows_frames = self.tool_parser in call_frames.FRAMES
        said = made.extract_reasoning(text, request) if knows_frames else None
        try:
            reasoning, content, calls = made.parse(
                text,
                request,
                enable_auto_tools=self._tool_parser is not None,
                model_output_token_ids=token_ids.tolist(),
            )
        except Exception:  # parsers raise for some malformed answers
            if said is None:
                raise
            (reasoning, content), calls = said, []
        read = [(call.id or "", call.name, call.arguments) for call in calls or []]
        read = call_values.give_types(self.tool_parser, read, tools or ())
        answer = _behind_reasoning(text, *said) if said else content
        first = "".join((content or "").split()[:1])
        is_whole = choice == "none" and said and answer.lstrip().startswith(first)
        if is_whole and call_frames.has_call_or_mention(self.tool_parser, answer):
            content = call_frames.words_alone(self.tool_parser, answer)  # parsers take out calls all the same
        return _Reading(reasoning, content or "", read, answer or "")

    def _has_reasoning_marks(self, generation: Generation) -> bool:
        """Returns True if the generated text, or the last 8 tokens of the prompt before it, have a mark of
        reasoning.
        """
        return has_mark(generation.text) or has_mark(self._end_of_prompt(generation))

    def _end_of_prompt(self, generation: Generation) -> str:
        text: str = self._tokenizer.decode(generation.prompt_ids[-8:], skip_special_tokens=False)
        return text

    def _grammar(self, tools_json: str, parallel: bool) -> Grammar:
        """Returns the grammar that forces a well-formed call of one of the tools (one or more calls if `parallel`).
        `tools_json` comes from `tools_key`.
        """
        from vllm.tool_parsers.utils import get_json_schema_from_tools

        tools = json.loads(tools_json)
        if self._plain:
            return Grammar("structural_tag", json.dumps(compact(plain_calls.structural_tag(tools, parallel), parallel)))
        for tool in tools:
            tool["function"]["strict"] = True
        request = _chat_request(tools, "required", parallel)
        if self._tool_parser is not None:
            tag = self._tool_parser(self._tokenizer, request.tools).get_structural_tag(request)
            if tag is not None:
                return Grammar("structural_tag", json.dumps(compact(tag.model_dump(), parallel)))
        schema = get_json_schema_from_tools(tool_choice="required", tools=request.tools, parallel_tool_calls=parallel)
        return Grammar("json", schema if isinstance(schema, str) else json.dumps(schema))

    def _keeps_control_tokens(self, has_tools: bool) -> bool:
        """Returns True if the parsers look for control tokens, which the generated text would otherwise lack.
        `has_tools`: True if the answer may call tools.
        """
        if self._parser is None:
            return False
        probe = ToolSchema("probe", "", {"type": "object", "properties": {}}).as_openai()
        request = _chat_request([probe] if has_tools else [], "auto" if has_tools else "none")
        adjusted = self._parser(self._tokenizer, request.tools).adjust_request(request)
        return not adjusted.skip_special_tokens

    def _compose_parser(self, tool_parser: str | None, reasoning_parser: str | None) -> Any:
        """Returns vLLM's parser of calls and reasoning together: a class that is instantiated for every answer; None
        without parsers. Errors: UserError if the parsers don't fit together or don't fit the tokenizer.
        """
        from vllm.parser.parser_manager import ParserManager

        is_harmony = tool_parser == HARMONY[0] or reasoning_parser == HARMONY[1]
        try:
            parser = ParserManager.get_parser(
                tool_parser,
                reasoning_parser,
                enable_auto_tools=True,
                is_harmony=is_harmony,
                tokenizer=self._tokenizer,
            )
        except TypeError as error:
            raise UserError(f"tool_parser, reasoning_parser: {error}") from error
        return read_all_messages(parser) if is_harmony else parser


class _Reading(NamedTuple):
    """Holds what a parser of vLLM reads in an answer."""

    reasoning: str | None
    words: str
    calls: list[Call]
    answer: str
    """Answer without its reasoning, calls and all."""


def tools_key(tools: Sequence[ToolSchema]) -> str:
    """Returns tools in OpenAI's form as JSON text, by which their grammar is cached."""
    return json.dumps([tool.as_openai() for tool in tools])


def _cache_vocabulary(tokenizer: Any) -> Any:
    """Returns a tokenizer that caches its vocabulary, which every parser asks for, and which takes long to build; None
    for None.
    """
    from vllm.tokenizers.hf import get_cached_tokenizer

    return get_cached_tokenizer(tokenizer) if tokenizer is not None else None


def _chat_request(tools: list[dict[str, Any]], choice: str | None, parallel: bool = True) -> Any:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    messages = [{"role": "user", "content": ""}]
    return ChatCompletionRequest(
        messages=messages, tools=tools or None, tool_choice=choice, parallel_tool_calls=parallel
    )


def _look_up(field: str, name: str | None, find: Any) -> Any:
    if name is None:
        return None
    try:
        return find(name)
    except KeyError as error:
        raise UserError(f"{field}: vLLM knows no {name!r}: {error.args[0]}") from None


def compact(node: Any, parallel: bool) -> Any:
    """Returns a copy of a structural tag (or of a part of one) that allows at most one space between the parts of its
    JSON: small models can generate whitespace for ever. Of tags that differ only in whitespace, the shortest is kept.
    Unless `parallel`, the copy allows only one call.
    """
    if isinstance(node, list):
        return [compact(item, parallel) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "json_schema" and node.get("style", "json") == "json":
        return {**node, "max_whitespace_cnt": 1}
    made = {key: compact(value, parallel) for key, value in node.items()}
    if node.get("type") in ("tags_with_separator", "triggered_tags"):
        made["tags"] = _drop_spaced_variants(made["tags"])
        if not parallel:
            made["stop_after_first"] = True
    return made


def _drop_spaced_variants(tags: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the tags, and of those that differ only in whitespace just the shortest: a forced token costs as much as
    a chosen one.
    """
    shortest: dict[str, dict[str, Any]] = {}
    for tag in sorted(tags, key=lambda tag: len(tag["begin"] + tag["end"])):
        shortest.setdefault("".join(f"{tag['begin']}|{tag['end']}".split()), tag)
    return list(shortest.values())


def _behind_reasoning(text: str, reasoning: str | None, answer: str | None) -> str:
    """Returns a text behind its reasoning, as it stands. `answer`: what a parser returns as such. If the parser took a
    mention of a call for the end of the reasoning, it left out the true end, which then stays in what is returned.
    """
    answer = answer or ""
    if not reasoning or text.endswith(answer):
        return answer
    start = text.rfind(reasoning, 0, len(text) - len(answer))
    return text[start + len(reasoning) :] if start >= 0 else answer
