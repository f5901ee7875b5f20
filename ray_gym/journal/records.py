"""Defines the records of a journal: msgpack arrays whose first element is the kind of record.

`episode`, `try_` and `attempt` say which episode a record belongs to, and which try and attempt of it wrote the record.
A try plays an episode from its start; an attempt is one worker's part in it, and may continue the try of an earlier
attempt.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Opened(msgspec.Struct, array_like=True, tag=0, frozen=True):
    """Records which run and which worker (`writer`) a file belongs to. It is the first record of a file."""

    run_id: str
    writer: str


class Begun(msgspec.Struct, array_like=True, tag=1, frozen=True):
    """Records that an attempt began to play an episode, or (with a `cause`) began a new try of it."""

    episode: str
    try_: int
    attempt: int
    started_at: float
    """Unix time in seconds at which the try began."""
    adopted: tuple[str, ...] = ()
    """Fenced files from which the attempt continues, the oldest first."""
    cause: str = ""
    """Reason for the new try; empty for an attempt."""


OTHER_CALLS = ("effect ", "thread ", "tool ")
"""Beginnings of `Called.thread` in records of calls that are not to models."""


class Called(msgspec.Struct, array_like=True, tag=2, frozen=True):
    """Records the answer of a call."""

    episode: str
    try_: int
    attempt: int
    seq: int
    """Number of the answer in the episode, from 0."""
    issued: int
    """Number of answers that the episode had when the call was made."""
    thread: str
    """Thread of a model call; kind and name of another call."""
    number: int
    """Number of the call in its thread, from 0."""
    request: bytes
    """Digest of the request, with which a replay compares its own (see `MadeCall.request`)."""
    active_s: float
    """Seconds that the episode had been played when the call was answered."""
    started_at: float
    """Unix time in seconds at which the call was made."""
    duration_s: float
    """Seconds from the call to its answer."""
    answer: msgspec.Raw
    """Stored answer, as msgpack."""


class Intended(msgspec.Struct, array_like=True, tag=3, frozen=True):
    """Records that an effect on something outside of the episode is about to be made, or (with the thread
    `score_group`) that the episode's group is about to be scored. A `Called` of the same thread and number records that
    an effect was made.
    """

    episode: str
    try_: int
    attempt: int
    thread: str
    number: int


class Commanded(msgspec.Struct, array_like=True, tag=4, frozen=True):
    """Records a command of a session that is driven from outside."""

    episode: str
    try_: int
    attempt: int
    index: int
    """Number of the command in its session, from 0."""
    command: msgspec.Raw
    """The command, as msgpack."""
    key: str = ""
    """Name that the caller gave the command."""
    issued: int = 0
    """Number of answers that the episode had when the command came."""
    under_way: tuple[int, ...] = ()
    """Numbers of the earlier commands that were not done."""
    cut: tuple[tuple[str, int], ...] = ()
    """Calls (thread and number) that the command ended before they were answered."""


class Over(msgspec.Struct, array_like=True, tag=5, frozen=True):
    """Records that an episode was played to its end, or failed for good. Its row may not be committed yet."""

    episode: str
    attempt: int


class Charged(msgspec.Struct, array_like=True, tag=6, frozen=True):
    """Records that this episode is to blame for the end of its worker, which ends right after this record."""

    episode: str
    attempt: int
    message: str
    """Reason for which the worker was ended."""


class Tried(msgspec.Struct, array_like=True, tag=7, frozen=True):
    """Records that a step of a session begins (`survived` is False), or was carried out (True).

    A step is a command, given by its index, or the setup.
    """

    episode: str
    try_: int
    attempt: int
    step: int
    survived: bool


SETUP = -1
"""Number of the step that sets a session up."""

EpisodeRecord = Begun | Called | Intended | Commanded | Over | Charged | Tried
Record = Opened | EpisodeRecord

encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Record)


def decode(payload: bytes) -> Record:
    """Decodes a payload. Errors: msgspec.DecodeError, a ValueError, for a payload that is no record."""
    record: Record = _decoder.decode(payload)
    return record
