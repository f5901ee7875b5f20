"""Encodes requests and answers as bytes: msgpack, with arrays as they lie in memory. Pickle takes ten times as long for
messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.messages import Message, ToolChoice, ToolSchema, utf8
from ray_gym.models import stored as answers
from ray_gym.models.base import Completion, CompletionRequest, Sampling

Outcome = Literal["completion", "failure", "full", "unreachable", "broken"]
"""Kind of an answer. The last three mean: no slot is free; a resource of the call is gone, and may be back; the
replica's own code raised.
"""


class SentRequest(msgspec.Struct, array_like=True, gc=False):
    messages: tuple[Message, ...]
    sampling: Sampling
    session_id: str
    seed: int
    thread: str
    known: int
    history: bytes
    tools: tuple[ToolSchema, ...]
    allowed_tools: tuple[ToolSchema, ...] | None
    """Tools that the state allows. None means the same as `tools`, which is the usual case."""
    tool_choice: ToolChoice
    parallel_tool_calls: bool
    response_format: str | None
    group_id: str


class Call(msgspec.Struct, array_like=True):
    """A call has a `number` that its caller chose. `may_wait` says whether it may wait if no slot is free."""

    number: int
    may_wait: bool
    request: msgspec.Raw


class Batch(msgspec.Struct, array_like=True):
    calls: list[Call]
    cancelled: list[int]
    """Numbers of calls in earlier batches that nobody waits for any more."""


class Failed(msgspec.Struct, array_like=True):
    kind: FailureKind
    where: str
    message: str
    retry: bool


class Answer(msgspec.Struct, array_like=True):
    """An answer's `content` is a stored completion, a `Failed`, or a text, depending on its `outcome`."""

    number: int
    outcome: Outcome
    content: msgspec.Raw


_encode = msgspec.msgpack.Encoder().encode
_request_decoder = msgspec.msgpack.Decoder(SentRequest)
_batch_decoder = msgspec.msgpack.Decoder(Batch)
_failed_decoder = msgspec.msgpack.Decoder(Failed)
_text_decoder = msgspec.msgpack.Decoder(str)
_answers_decoder = msgspec.msgpack.Decoder(list[Answer])


def encode_batch(batch: Batch) -> bytes:
    return _encode(batch)


def decode_batch(data: bytes) -> Batch:
    return _batch_decoder.decode(data)


def encode_answers(given: Sequence[Answer]) -> bytes:
    return _encode(given)


def decode_answers(data: bytes) -> list[Answer]:
    return _answers_decoder.decode(data)


def encode_request(request: CompletionRequest) -> msgspec.Raw:
    """Encodes a request. Lone surrogates, which UTF-8 can't spell, are replaced."""
    try:
        return msgspec.Raw(_encode(_sent(request, request.messages)))
    except UnicodeEncodeError:
        return msgspec.Raw(_encode(_sent(request, (message.encodable() for message in request.messages))))


def decode_request(data: msgspec.Raw) -> CompletionRequest:
    sent = _request_decoder.decode(data)
    return CompletionRequest(
        list(sent.messages),
        sent.sampling,
        sent.session_id,
        sent.seed,
        sent.thread,
        sent.known,
        np.frombuffer(sent.history, dtype=np.int32),
        sent.tools,
        sent.tools if sent.allowed_tools is None else sent.allowed_tools,
        sent.tool_choice,
        sent.parallel_tool_calls,
        sent.response_format,
        sent.group_id,
    )


def completed(number: int, completion: Completion) -> Answer:
    try:
        stored = answers.store(completion)
    except UnicodeEncodeError:
        completion.message = completion.message.encodable()
        stored = answers.store(completion)
    return Answer(number, "completion", stored)


def failed(number: int, error: EpisodeFailure) -> Answer:
    failure = error.failure
    failed = Failed(failure.kind, failure.where, utf8(failure.message), error.retry)
    return Answer(number, "failure", msgspec.Raw(_encode(failed)))


def troubled(number: int, outcome: Outcome, message: str) -> Answer:
    return Answer(number, outcome, msgspec.Raw(_encode(utf8(message))))


def completion_of(answer: Answer) -> Completion:
    return answers.restore(answer.content)


def failure_of(answer: Answer) -> EpisodeFailure:
    failed = _failed_decoder.decode(answer.content)
    return EpisodeFailure(failed.kind, failed.where, failed.message, failed.retry)


def message_of(answer: Answer) -> str:
    return _text_decoder.decode(answer.content)


def _sent(request: CompletionRequest, messages: Iterable[Message]) -> Any:
    return SentRequest(
        tuple(messages),
        request.sampling,
        request.session_id,
        request.seed,
        request.thread,
        request.known,
        request.history.tobytes(),
        request.tools,
        None if request.allowed_tools == request.tools else request.allowed_tools,
        request.tool_choice,
        request.parallel_tool_calls,
        request.response_format,
        request.group_id,
    )
