"""Keeps one conversation of one participant with its model: an append-only message list and its token ledger."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import xxhash

from ray_gym.episode.ledger import Ledger
from ray_gym.episode.participant import Participant
from ray_gym.messages import Message, ToolChoice, ToolSchema
from ray_gym.models.base import Completion, CompletionRequest, Model, Sampling
from ray_gym.models.most_tokens import NOT_COUNTED, Counted
from ray_gym.seeds import derive_seed

_encode = msgspec.msgpack.Encoder().encode


class Asked(msgspec.Struct, frozen=True):
    """Holds everything that a call asks of a model, except the messages."""

    sampling: Sampling
    tools: tuple[ToolSchema, ...] = ()
    """Schemas that the prompt shows."""
    allowed: tuple[ToolSchema, ...] = ()
    """The same schemas as the state narrows them now."""
    tool_choice: ToolChoice = "none"
    parallel_tool_calls: bool = False
    response_format: str | None = None
    """Required form of the answer, as JSON text (see `CompletionRequest.response_format`); None for any form."""

    @staticmethod
    def by(participant: Participant, tools: tuple[ToolSchema, ...], allowed: tuple[ToolSchema, ...]) -> Asked:
        """Returns the options of a model call as a participant's config has them, with these tools.

        `tools` are those that the prompt shows, `allowed` the same as the state narrows them now. Without tools, the
        tool choice is "none".
        """
        choice = participant.tool_choice if tools else "none"
        return Asked(participant.sampling, tools, allowed, choice, participant.parallel_tool_calls)


@dataclass(slots=True)
class Thread:
    """Keeps one conversation of a participant with its model. It allows one model call at a time."""

    name: str
    """Name of the thread: the participant's for its own thread, and PARTICIPANT/NUMBER for further ones."""
    participant: Participant
    model: Model
    session_id: str
    """Id of the episode. Calls with the same id go to the same replica of a model."""
    seed: int
    """Seed of this try of the episode, from which each call's seed is derived."""
    group_id: str = ""
    """Id of the episode's group."""
    messages: list[Message] = field(default_factory=list)
    event_seqs: list[int] = field(default_factory=list)
    """Number of each message's event, in the order of `messages`."""
    beside: dict[int, str] = field(default_factory=dict)
    """Texts that the model gave beside messages of its own (`Completion.beside`), by their index in `messages`."""
    ledger: Ledger = field(default_factory=Ledger)
    calls: int = 0
    """Number of model calls that have ended, with or without an answer."""
    known: int = 0
    """Number of messages, from the start, whose tokens the current sample holds."""
    busy: bool = False
    """True while a model call is under way."""
    counted: Counted = NOT_COUNTED
    """Length of the conversation as the model told it last."""
    shown: tuple[ToolSchema, ...] = ()
    """Tools that prompts of this thread have shown, each once."""
    _hash: Any = field(default_factory=xxhash.xxh3_128)
    _hashed: int = 0

    @property
    def has_something_to_answer(self) -> bool:
        """Says whether the last message is the other side's: a user message, or the result of a tool."""
        last = self.messages[-1] if self.messages else None
        return last is not None and last.role in ("user", "tool")

    @property
    def has_only_a_system_prompt(self) -> bool:
        """Says whether the thread holds a system prompt and nothing else, which is enough for the first speaker."""
        return bool(self.messages) and all(message.role == "system" for message in self.messages)

    def append(self, message: Message, event_seq: int) -> None:
        """Appends a message, and the number of its event."""
        self.messages.append(message)
        self.event_seqs.append(event_seq)

    def show(self, tools: tuple[ToolSchema, ...]) -> None:
        """Records that a prompt showed these tools. As a rule, all prompts of a thread show the same."""
        if not self.shown:
            self.shown = tools
        elif tools and tools != self.shown:
            self.shown = tuple({tool.name: tool for tool in (*self.shown, *tools)}.values())

    def forget(self, kept: int) -> None:
        """Discards all but the first `kept` messages, because the model could not be asked about the others."""
        del self.messages[kept:], self.event_seqs[kept:]
        self.beside = {index: given for index, given in self.beside.items() if index < kept}
        self._hashed = min(self._hashed, kept)
        if kept < self.counted.messages:
            self.counted = NOT_COUNTED

    def request(self, asked: Asked, max_tokens: int) -> CompletionRequest:
        """Returns the request of a model call over all messages, with at most `max_tokens` tokens to generate. It holds
        the thread's own list of messages, not a copy. `accept` appends the answer.

        A seed of the sampling gives each call one of its own: with the same for all, the episodes of a group would be
        equal.
        """
        sampling, seed = asked.sampling, derive_seed(self.seed, self.name, self.calls)
        if sampling.seed is not None:
            sampling = replace(sampling, seed=derive_seed(sampling.seed, seed) % 2**31)  # what all endpoints take
        if max_tokens < sampling.max_tokens:
            sampling = replace(sampling, max_tokens=max_tokens)
        return CompletionRequest(
            messages=self.messages,
            sampling=sampling,
            session_id=self.session_id,
            seed=seed,
            thread=self.name,
            known=self.known,
            history=self.ledger.history,
            tools=asked.tools,
            allowed_tools=asked.allowed,
            tool_choice=asked.tool_choice,
            parallel_tool_calls=asked.parallel_tool_calls,
            response_format=asked.response_format,
            group_id=self.group_id,
            beside=self.beside,
        )

    def take(self) -> int:
        """Reserves the thread for one call, until `give_back`, and returns the call's number. Errors: RuntimeError if
        another call is under way.
        """
        if self.busy:
            raise RuntimeError(
                f"thread {self.name} is already waiting for its model; open another thread for concurrent calls"
            )
        self.busy = True
        return self.calls

    def give_back(self) -> None:
        """Ends the reservation of the thread, and counts the call."""
        self.busy = False
        self.calls += 1

    def digest(self, request: CompletionRequest) -> bytes:
        """Returns a 16-byte digest of everything that this thread has asked so far, this request included. It must be
        called once for each call.
        """
        new = self.messages[self._hashed :]
        narrowed = _further_tools(request) if request.allowed_tools is not request.tools else []
        shown = request.tools if self.calls == 0 else ()
        choice = (request.tool_choice, request.parallel_tool_calls)
        held_to = (request.response_format,) if request.response_format is not None else ()
        asked = (new, shown, narrowed, request.sampling.max_tokens, *choice, *held_to)
        try:
            self._hash.update(_encode(asked))
        except UnicodeEncodeError:
            self._hash.update(repr(asked).encode("utf-8", "surrogatepass"))
        self._hashed = len(self.messages)
        digest: bytes = self._hash.digest()
        return digest

    def accept(self, completion: Completion, event_seq: int, sampling: Sampling | None = None) -> None:
        """Appends the answer to the messages, and its tokens to the ledger. `sampling` is the call's; None means the
        participant's.
        """
        first_new = 0 if completion.fork_reason is not None else self.known
        self.ledger.add(completion, self.event_seqs[first_new:], event_seq, sampling or self.participant.sampling)
        if completion.beside:
            self.beside[len(self.messages)] = completion.beside
        self.append(completion.message, event_seq)
        self.known = len(self.messages) if completion.has_tokens else 0
        if completion.prompt_tokens:
            self.counted = Counted(len(self.messages), completion.prompt_tokens + completion.generated_tokens)


def _further_tools(request: CompletionRequest) -> list[ToolSchema]:
    whole = set(map(id, request.tools))
    return [schema for schema in request.allowed_tools if id(schema) not in whole]
