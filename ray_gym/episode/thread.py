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
from ray_gym.seeds import derive_seed

_encode = msgspec.msgpack.Encoder().encode


class Asked(msgspec.Struct, frozen=True):
    """Holds what a call asks of a model beside the messages. `tools` are those that the prompt shows; `allowed` are the
    same as they are narrowed now.
    """

    sampling: Sampling
    tools: tuple[ToolSchema, ...] = ()
    allowed: tuple[ToolSchema, ...] = ()
    tool_choice: ToolChoice = "none"
    parallel_tool_calls: bool = False
    response_format: str | None = None

    @staticmethod
    def by(participant: Participant, tools: tuple[ToolSchema, ...], allowed: tuple[ToolSchema, ...]) -> Asked:
        choice = participant.tool_choice if tools else "none"
        return Asked(participant.sampling, tools, allowed, choice, participant.parallel_tool_calls)


@dataclass(slots=True)
class Thread:
    """Takes one call at a time: a second call while one is under way raises."""

    name: str
    participant: Participant
    model: Model
    session_id: str
    seed: int
    group_id: str = ""
    messages: list[Message] = field(default_factory=list)
    event_seqs: list[int] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    calls: int = 0
    known: int = 0
    busy: bool = False
    shown: tuple[ToolSchema, ...] = ()
    """Tools that its prompts have shown, each once."""
    _hash: Any = field(default_factory=xxhash.xxh3_128)
    _hashed: int = 0

    @property
    def has_something_to_answer(self) -> bool:
        """Says whether anything was said since this participant's own last words; its tools' results count."""
        last = self.messages[-1] if self.messages else None
        return last is not None and last.role in ("user", "tool")

    @property
    def has_only_a_system_prompt(self) -> bool:
        """Says whether there is a system prompt and nothing else, which is enough for the first speaker."""
        return bool(self.messages) and all(message.role == "system" for message in self.messages)

    def append(self, message: Message, event_seq: int) -> None:
        self.messages.append(message)
        self.event_seqs.append(event_seq)

    def show(self, tools: tuple[ToolSchema, ...]) -> None:
        """Records that a prompt showed these tools: as a rule, all prompts of a thread show the same."""
        if not self.shown:
            self.shown = tools
        elif tools and tools != self.shown:
            self.shown = tuple({tool.name: tool for tool in (*self.shown, *tools)}.values())

    def forget(self, kept: int) -> None:
        """Forgets all but the first `kept` messages: the model could not be asked the others."""
        del self.messages[kept:], self.event_seqs[kept:]
        self._hashed = min(self._hashed, kept)

    def request(self, asked: Asked, max_tokens: int) -> CompletionRequest:
        """Makes the request of a model call over all that was said. Its answer is appended by `accept`, with its event."""
        sampling = asked.sampling
        if max_tokens < sampling.max_tokens:
            sampling = replace(sampling, max_tokens=max_tokens)
        return CompletionRequest(
            messages=self.messages,
            sampling=sampling,
            session_id=self.session_id,
            seed=derive_seed(self.seed, self.name, self.calls),
            thread=self.name,
            known=self.known,
            history=self.ledger.history,
            tools=asked.tools,
            allowed_tools=asked.allowed,
            tool_choice=asked.tool_choice,
            parallel_tool_calls=asked.parallel_tool_calls,
            response_format=asked.response_format,
            group_id=self.group_id,
        )

    def take(self) -> int:
        """Takes the thread for one call, until `give_back`, and returns the call's number. Errors: RuntimeError if it
        is taken.
        """
        if self.busy:
            raise RuntimeError(
                f"thread {self.name} is already waiting for its model; open another thread for concurrent calls"
            )
        self.busy = True
        return self.calls

    def give_back(self) -> None:
        self.busy = False
        self.calls += 1

    def digest(self, request: CompletionRequest) -> bytes:
        """Returns 16 bytes that stand for everything this thread has asked so far, this request included. Call it once
        for each call.
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
        """Appends the answer to the messages and its tokens to the ledger. `sampling` is given if it was not the
        participant's.
        """
        first_new = 0 if completion.fork_reason is not None else self.known
        self.ledger.add(completion, self.event_seqs[first_new:], event_seq, sampling or self.participant.sampling)
        self.append(completion.message, event_seq)
        self.known = len(self.messages) if completion.has_tokens else 0


def _further_tools(request: CompletionRequest) -> list[ToolSchema]:
    whole = set(map(id, request.tools))
    return [schema for schema in request.allowed_tools if id(schema) not in whole]
