"""Encodes the calls and answers of lanes as bytes: msgpack, with arrays as their raw bytes. Pickle takes ten times as
long for messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.messages import Message, ToolChoice, ToolSchema, utf8
from ray_gym.models import stored
from ray_gym.models.base import Completion, CompletionRequest, Sampling

AnswerKind = Literal["completion", "failure", "full", "unreachable", "broken"]
"""Kind of an answer: `completion`, the model answered; `failure`, the episode failed; `full`, no slot is free and the
call may not wait; `unreachable`, a resource of the call is gone, and a retry may succeed; `broken`, the replica's own
code raised.
"""


class SentRequest(msgspec.Struct, array_like=True, gc=False):
    """Holds a `CompletionRequest` as it is sent. Fields without a description are those of the request."""

    messages: tuple[Message, ...]
    sampling: Sampling
    session_id: str
    seed: int
    thread: str
    known: int
    history: bytes
    """Token ids, int32 little-endian."""
    tools: tuple[ToolSchema, ...]
    allowed_tools: tuple[ToolSchema, ...] | None
    """Tools that the state allows. None means the same as `tools`, which is the usual case."""
    tool_choice: ToolChoice
    parallel_tool_calls: bool
    response_format: str | None
    group_id: str
    line: str = ""


class ReplicaCall(msgspec.Struct, array_like=True):
    """Holds a call as it is sent to a replica: a request, and the number by which the caller recognises the answer."""

    number: int
    """Number that the caller chose; its answer has the same. No two calls in flight on a connection share it."""
    may_wait: bool
    """Says whether the call may wait at the replica if no slot is free."""
    request: msgspec.Raw
    """An encoded `SentRequest`."""


class CallBatch(msgspec.Struct, array_like=True):
    """Holds the calls that a caller sends in one turn of its event loop, and those that it cancels."""

    calls: list[ReplicaCall]
    cancelled: list[int]
    """Numbers of calls in earlier batches whose callers don't wait for the answers any more."""


class SentFailure(msgspec.Struct, array_like=True):
    """Holds an `EpisodeFailure` as it is sent."""

    kind: FailureKind
    where: str
    message: str
    retry: bool
    traceback: str = ""


class ReplicaAnswer(msgspec.Struct, array_like=True):
    """Holds a replica's answer to the call with this `number`."""

    number: int
    kind: AnswerKind
    content: msgspec.Raw
    """Encoded by `kind`: a stored completion, a `SentFailure`, or else the text of an error."""


_encode = msgspec.msgpack.Encoder().encode
_request_decoder = msgspec.msgpack.Decoder(SentRequest)
_batch_decoder = msgspec.msgpack.Decoder(CallBatch)
_failed_decoder = msgspec.msgpack.Decoder(SentFailure)
_text_decoder = msgspec.msgpack.Decoder(str)
_answers_decoder = msgspec.msgpack.Decoder(list[ReplicaAnswer])


def encode_batch(batch: CallBatch) -> bytes:
    return _encode(batch)


def decode_batch(data: bytes) -> CallBatch:
    return _batch_decoder.decode(data)


def encode_answers(answers: Sequence[ReplicaAnswer]) -> bytes:
    return _encode(answers)


def decode_answers(data: bytes) -> list[ReplicaAnswer]:
    return _answers_decoder.decode(data)


def encode_request(request: CompletionRequest) -> msgspec.Raw:
    """Encodes a request as msgpack, in the form of `SentRequest`. Lone surrogates in its messages, which UTF-8 can't
    encode, are replaced.
    """
    try:
        return msgspec.Raw(_encode(_sent_request(request, request.messages)))
    except UnicodeEncodeError:
        return msgspec.Raw(_encode(_sent_request(request, (message.encodable() for message in request.messages))))


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
        sent.line,
    )


def completion_answer(number: int, completion: Completion) -> ReplicaAnswer:
    try:
        content = stored.store(completion)
    except UnicodeEncodeError:
        completion.message = completion.message.encodable()
        content = stored.store(completion)
    return ReplicaAnswer(number, "completion", content)


def failure_answer(number: int, error: EpisodeFailure) -> ReplicaAnswer:
    failure = error.failure
    where, message, traceback = map(utf8, (failure.where, failure.message, failure.traceback))
    failed = SentFailure(failure.kind, where, message, error.retry, traceback)
    return ReplicaAnswer(number, "failure", msgspec.Raw(_encode(failed)))


def error_answer(number: int, kind: AnswerKind, message: str) -> ReplicaAnswer:
    return ReplicaAnswer(number, kind, msgspec.Raw(_encode(utf8(message))))


def completion_of(answer: ReplicaAnswer) -> Completion:
    return stored.restore(answer.content)


def failure_of(answer: ReplicaAnswer) -> EpisodeFailure:
    failed = _failed_decoder.decode(answer.content)
    return EpisodeFailure(failed.kind, failed.where, failed.message, failed.retry, failed.traceback)


def message_of(answer: ReplicaAnswer) -> str:
    return _text_decoder.decode(answer.content)


def _sent_request(request: CompletionRequest, messages: Iterable[Message]) -> Any:
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
        request.line,
    )
