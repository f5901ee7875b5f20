"""Defines the records of a journal: msgpack arrays whose first element says which record they are."""

from __future__ import annotations

from typing import Any

import msgspec


class Opened(msgspec.Struct, array_like=True, tag=0, frozen=True):
    """This first record of a file says which run and which writer it belongs to."""

    run_id: str
    writer: str


class Begun(msgspec.Struct, array_like=True, tag=1, frozen=True):
    """This record says that an attempt took an episode over, going on from the records in the fenced files `adopted`,
    or (with a `cause`) opened a new try.
    """

    episode: str
    try_: int
    attempt: int
    started_at: float
    adopted: tuple[str, ...] = ()
    cause: str = ""


class Called(msgspec.Struct, array_like=True, tag=2, frozen=True):
    """This record says that a call was answered.

    `seq` counts an episode's answers; `issued` is how many there were when this call was made.
    """

    episode: str
    try_: int
    attempt: int
    seq: int
    issued: int
    thread: str
    number: int
    request: bytes
    active_s: float
    started_at: float
    duration_s: float
    answer: msgspec.Raw


class Intended(msgspec.Struct, array_like=True, tag=3, frozen=True):
    """This record says that an effect outside the session is about to be made; a `Called` of the same thread and number
    says that it was.
    """

    episode: str
    try_: int
    attempt: int
    thread: str
    number: int


class Commanded(msgspec.Struct, array_like=True, tag=4, frozen=True):
    """This record holds a command from outside, to a session that is driven from there.

    `issued` is how many answers there were when it came, `under_way` which commands before it were not done, `key` its
    giver's name for it. `cut`: calls (thread and number) that it has ended before they were answered.
    """

    episode: str
    try_: int
    attempt: int
    index: int
    command: msgspec.Raw
    key: str = ""
    issued: int = 0
    under_way: tuple[int, ...] = ()
    cut: tuple[tuple[str, int], ...] = ()


class Over(msgspec.Struct, array_like=True, tag=5, frozen=True):
    """This record says that the episode was played to its end; its row may not be committed yet."""

    episode: str
    attempt: int


class Charged(msgspec.Struct, array_like=True, tag=6, frozen=True):
    """This record says that the worker had to be ended because of this episode."""

    episode: str
    attempt: int
    message: str


class Tried(msgspec.Struct, array_like=True, tag=7, frozen=True):
    """This record says that a step of a session is about to be carried out for the first time, or again because its
    worker died meanwhile; or (`survived`) that it was carried out.

    Steps are commands, by their index, and the setup.
    """

    episode: str
    try_: int
    attempt: int
    step: int
    survived: bool


SETUP = -1
"""Number of the setup as a step."""

EpisodeRecord = Begun | Called | Intended | Commanded | Over | Charged | Tried
Record = Opened | EpisodeRecord

encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Record)


def decode(payload: bytes) -> Record:
    """Decodes a payload. Errors: msgspec.MsgspecError (ValueError's kin) for a payload that is no record."""
    record: Record = _decoder.decode(payload)
    return record
