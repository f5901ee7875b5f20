"""Encodes completions, failures of calls and results of effects, for the journal and the wire: arrays as bytes,
everything else as msgpack.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from ray_gym.errors import EpisodeFailure, Failure, FailureKind
from ray_gym.messages import Message, ToolCall, utf8
from ray_gym.models.base import Completion, FinishReason, SpanKind, VersionSpan


class StoredCompletion(msgspec.Struct, array_like=True, omit_defaults=True):
    content: str
    reasoning: str | None
    tool_calls: tuple[tuple[str, str, str], ...]
    finish_reason: FinishReason
    prompt_ids: bytes
    prompt_lengths: tuple[int, ...]
    token_ids: bytes
    logprobs: bytes
    versions: tuple[tuple[int, int, int], ...]
    kind: SpanKind
    grammar: str | None
    fork_reason: str | None
    prompt_tokens: int
    generated_tokens: int
    cached_tokens: int
    last_words: int = 0
    stop_text: str | None = None
    beside: str = ""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(StoredCompletion)


def store(completion: Completion) -> msgspec.Raw:
    message = completion.message
    stored = StoredCompletion(
        message.content,
        message.reasoning,
        tuple([(call.id, call.name, call.arguments) for call in message.tool_calls]),
        completion.finish_reason,
        completion.prompt_ids.tobytes(),
        completion.prompt_lengths,
        completion.token_ids.tobytes(),
        completion.logprobs.tobytes(),
        tuple([(span.version, span.start, span.end) for span in completion.versions]),
        completion.kind,
        completion.grammar,
        completion.fork_reason,
        completion.prompt_tokens,
        completion.generated_tokens,
        completion.cached_tokens,
        completion.last_words,
        completion.stop_text,
        completion.beside,
    )
    return msgspec.Raw(_encoder.encode(stored))


class StoredFailure(msgspec.Struct, tag="failure"):
    """Stores the failure of a call, which a replay raises again. Failures of the infrastructure are not stored. It is
    encoded as a map, and so can be told from answers, which are arrays.
    """

    kind: FailureKind
    where: str
    message: str
    traceback: str = ""


class StoredResult(msgspec.Struct, array_like=True):
    """Stores the result of an effect, which is JSON data."""

    value: Any


_failure_decoder = msgspec.msgpack.Decoder(StoredFailure)
WIDE_INTEGER = 1
"""Code of msgpack's extension for integers of more than 64 bits, which are stored as their digits."""


def wide_integer(number: int) -> msgspec.msgpack.Ext:
    """Returns an integer of more than 64 bits as msgpack can hold it; `restore_result` gives the integer."""
    return msgspec.msgpack.Ext(WIDE_INTEGER, f"{number:x}".encode())


def _restore_extension(code: int, data: memoryview) -> Any:
    return int(bytes(data), 16) if code == WIDE_INTEGER else msgspec.msgpack.Ext(code, bytes(data))


def _refuse(value: object) -> Any:
    raise TypeError(
        f"it returned a {type(value).__name__}, which the journal can't hold: return a text, numbers, lists, mappings, or "
        "a pydantic model"
    )


_result_encoder = msgspec.msgpack.Encoder(enc_hook=_refuse)
_result_decoder = msgspec.msgpack.Decoder(StoredResult, ext_hook=_restore_extension)
_A_MAP = 0x80
"""High bits of the first byte of a small map in msgpack."""


def store_failure(failure: Failure) -> msgspec.Raw:
    texts = map(utf8, (failure.where, failure.message, failure.traceback))
    return msgspec.Raw(_encoder.encode(StoredFailure(failure.kind, *texts)))


def store_result(value: Any) -> msgspec.Raw:
    """Encodes the result of an effect. Errors: TypeError for a value that msgpack can't encode; UnicodeEncodeError for
    text with lone surrogates.
    """
    return msgspec.Raw(_result_encoder.encode(StoredResult(value)))


def restore_result(answer: msgspec.Raw) -> Any:
    """Decodes the result of an effect. Errors: EpisodeFailure if a failure was stored in its place."""
    _raise_if_failed(answer)
    return _result_decoder.decode(answer).value


def _raise_if_failed(answer: msgspec.Raw) -> None:
    if bytes(answer)[0] & 0xF0 == _A_MAP:
        stored = _failure_decoder.decode(answer)
        raise EpisodeFailure(stored.kind, stored.where, stored.message, traceback=stored.traceback)


def restore(answer: msgspec.Raw) -> Completion:
    """Decodes a completion. Its arrays are read-only. Errors: EpisodeFailure if a failure was stored in its place."""
    _raise_if_failed(answer)
    stored = _decoder.decode(answer)
    calls = tuple(ToolCall(*call) for call in stored.tool_calls)
    return Completion(
        Message("assistant", stored.content, stored.reasoning, calls),
        stored.finish_reason,
        np.frombuffer(stored.prompt_ids, dtype=np.int32),
        stored.prompt_lengths,
        np.frombuffer(stored.token_ids, dtype=np.int32),
        np.frombuffer(stored.logprobs, dtype=np.float32),
        tuple(VersionSpan(*span) for span in stored.versions),
        stored.kind,
        stored.grammar,
        stored.fork_reason,
        stored.prompt_tokens,
        stored.generated_tokens,
        stored.cached_tokens,
        stored.last_words,
        stored.stop_text,
        stored.beside,
    )
