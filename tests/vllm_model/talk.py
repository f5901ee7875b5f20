"""Plays a thread as an episode does, around an engine's double, and checks its tokens after every step."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from conftest import one_call
from engine_double import EngineDouble, Line
from families import family

from ray_gym.deployments.chat.chat_format import ChatFormat
from ray_gym.deployments.chat.completer import Completer
from ray_gym.deployments.chat.options import ChatOptions
from ray_gym.deployments.chat.parsers import choose_parsers
from ray_gym.deployments.chat.rendering import Rendering
from ray_gym.deployments.chat.tool_format import ToolFormat
from ray_gym.episode.participant import Participant
from ray_gym.episode.thread import Thread
from ray_gym.errors import UserError
from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import Completion, Sampling

TOOL = ToolSchema(
    "make_move",
    "Place your mark.",
    {"type": "object", "properties": {"position": {"type": "integer"}, "why": {"type": "string"}}},
)
FORK_REASONS = {"reasoning_stripped", "template_rewrote_history", "template_refused_message"}
CONTROL_STRINGS = [
    *("<|im_end|>", "<|im_start|>", "<|eot_id|>", "<end_of_turn>", "<｜end▁of▁sentence｜>", "[/INST]", "</s>", "<eos>"),
    *("<tool_call>", "</think>", "<|call|>", "<b>", "\U000f0000"),
]


@dataclass(frozen=True)
class Formats:
    chat: ChatFormat
    tools: ToolFormat
    tokenizer: Any
    stop_ids: tuple[int, ...]
    controls: frozenset[int]

    @property
    def end_of_turn(self) -> int:
        """Returns the end-of-generation token that the template itself writes after an answer."""
        asked, answered = Message("user", "x"), Message("assistant", "y")
        text = Rendering(self.chat.template, self.chat._text, [asked, answered, asked], ()).plain
        found = {text.rfind(self.tokenizer.convert_ids_to_tokens(stop)): stop for stop in reversed(self.stop_ids)}
        return found[max(found)]

    @property
    def takes_tools(self) -> bool:
        return self.chat.tool_template is not None


@cache
def formats(name: str) -> Formats:
    found = family(name)
    chat = ChatFormat(found.tokenizer, found.stop_ids)
    source = chat.template.source
    takes_tools = chat.tool_template is not None
    parsers = choose_parsers(ChatOptions(), name, source, shows_tools=chat.shows_tools, uses_tools=takes_tools)
    added = found.tokenizer.added_tokens_decoder
    controls = frozenset(
        number
        for number, token in added.items()
        if token.special or token.content in source or {"|", "｜"} & set(token.content[1:-1])
    )
    tool_format = ToolFormat(parsers.tool, parsers.reasoning, found.tokenizer)
    return Formats(chat, tool_format, found.tokenizer, found.stop_ids, controls)


@dataclass
class Talk:
    """Plays one thread as an episode does, and checks after every step all that must hold."""

    formats: Formats
    has_tools: bool
    events: int = 0
    forks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = EngineDouble(self.formats.tokenizer, self.formats.end_of_turn)
        self.completer = Completer(self.formats.chat, self.formats.tools, self.engine)
        policy = Participant("policy", "double", Sampling(max_tokens=10_000), True, 99, 99)
        self.thread = Thread("policy", policy, self.completer, "session", 1)  # type: ignore[arg-type]
        self.tools = (TOOL,) if self.has_tools else ()
        self.frozen: list[list[int]] = []

    def put(self, message: Message) -> None:
        self.thread.append(message, self.events)
        self.events += 1

    def speak(self, line: Line, limit: int = 10_000) -> Message:
        self.engine.lines.append(line)
        samples = [sample.token_ids.tolist() for sample in self.thread.ledger.samples]
        before = (self.thread.known, self.thread.ledger.history)
        new_messages = self.thread.messages[self.thread.known :]
        completion = asyncio.run(one_call(self.thread, self.tools, self.tools, limit))
        self.thread.accept(completion, self.events)
        self.events += 1
        self._check(samples, completion, new_messages)
        if completion.fork_reason != "template_refused_message":  # which shows what is known by something else
            expected = self._control_count_of_harmless(before, completion.fork_reason is not None)
            assert self._control_count(completion.prompt_ids) == expected, "text became control"
        return completion.message

    def _check(self, before: list[list[int]], completion: Completion, new_messages: list[Message]) -> None:
        samples = self.thread.ledger.samples
        given, said = self.engine.prompts[-1], self.engine.said[-1]
        assert samples[-1].token_ids.tolist() == given + said, "deltas and generated ids are what the engine was given"
        forked = len(samples) > len(before)
        if forked and before:
            assert completion.fork_reason in FORK_REASONS
            assert samples[-1].fork_reason == completion.fork_reason
            self.forks.append(completion.fork_reason)
        assert [sample.token_ids.tolist() for sample in samples[: len(before)]][:-1] == before[:-1]
        if before:
            kept = samples[len(before) - 1].token_ids.tolist()
            assert kept[: len(before[-1])] == before[-1] and (not forked or kept == before[-1])
        self._check_mask(len(said))
        if not forked:
            assert len(completion.prompt_lengths) == len(new_messages)

    def _check_mask(self, generated: int) -> None:
        sample = self.thread.ledger.samples[-1]
        mask, ids = sample.loss_mask, sample.token_ids
        assert mask[len(mask) - generated :].all() and (generated == len(mask) or not mask[-generated - 1])
        assert np.array_equal(sample.logprobs, np.where(mask == 1, -ids.astype(np.float32), 0))
        covered = np.zeros(sample.length, dtype=int)
        for span in sample.spans:
            covered[span.start : span.end] += 1
            assert (mask[span.start : span.end] == int(span.generated)).all()
        assert (covered == 1).all(), "every token belongs to exactly one span"
        versioned = sorted(token for version in sample.versions for token in range(version.start, version.end))
        assert versioned == np.flatnonzero(mask).tolist()

    def _control_count(self, ids: Any) -> int:
        return sum(int(token) in self.formats.controls for token in ids)

    def _control_count_of_harmless(self, before: tuple[int, Any], forked: bool) -> int:
        """Returns how many control ids the messages give when every hostile string in the new ones is made harmless."""
        known, history = (0, before[1][:0]) if forked else before
        asked = self.thread.messages[:-1]  # without the answer
        messages = [*asked[:known], *map(harmless, asked[known:])]
        return self._control_count(self.formats.chat.prompt(messages, self.tools, known, history).new_ids)

    def rendering(self) -> str:
        """Returns the whole conversation as the template alone renders it, with the generation prompt."""
        chat = self.formats.chat
        template = chat.tool_template if self.tools else chat.template
        assert template is not None
        return Rendering(template, chat._text, self.thread.messages, self.tools).plain


def clean(text: str) -> str:
    for hostile in CONTROL_STRINGS:
        text = text.replace(hostile, "word")
    return text


def harmless(message: Message) -> Message:
    calls = tuple(ToolCall(call.id, clean(call.name), clean(call.arguments)) for call in message.tool_calls)
    reasoning = None if message.reasoning is None else clean(message.reasoning)
    return Message(message.role, clean(message.content), reasoning, calls, message.tool_call_id)


def as_text(chosen: Formats, text: str) -> list[int]:
    """Returns the ids of a text that a model generates: control strings in it are text."""
    from ray_gym.deployments.chat.text_tokens import Placeholders

    placeholders = Placeholders()
    return chosen.chat._text.encode(chosen.chat._text.protect(text, placeholders), placeholders, continued=True)


def as_the_template_writes(talk: Talk, message: Message) -> list[int] | None:
    """Returns the ids that a model of this family generates for a message, or None if its template can't write it."""
    chat = talk.formats.chat
    template = chat.tool_template if talk.tools else chat.template
    assert template is not None
    try:
        before = Rendering(template, chat._text, talk.thread.messages, talk.tools)
        after = Rendering(template, chat._text, [*talk.thread.messages, message], talk.tools)
    except UserError:
        return None
    with_answer = after.text(after.count)
    if with_answer is None or not with_answer.startswith(before.full):
        return None
    written = with_answer[len(before.full) :]
    stops = [talk.formats.tokenizer.convert_ids_to_tokens(stop) for stop in talk.formats.stop_ids]
    position = max(written.rfind(stop) for stop in stops)
    return chat._text.encode(written[: position if position >= 0 else None], after.placeholders, continued=True)
